// How much memory there is.
#pragma once

#include <cstdint>

namespace hearth::cli {

/// Bytes of main memory of this machine.
std::uint64_t main_memory();

/// Bytes of main memory that this process could still take: what the system could free, and within
/// the limit of its control group.
std::uint64_t free_memory();

/// Bytes that a model may take its share of: the device's own memory, or main memory on a CPU.
std::uint64_t model_memory();

/// Lets the C library keep one heap rather than one for every few threads: models that come and go
/// on threads of their own would leave holes in each. To be called before there are threads.
void keep_one_heap();

}  // namespace hearth::cli
