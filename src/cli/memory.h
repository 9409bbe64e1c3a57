// How much memory there is.
#pragma once

#include <cstdint>

namespace hearth::cli {

/// Bytes of main memory of this machine.
std::uint64_t main_memory();

/// Bytes that a model may take its share of: the device's own memory, or main memory on a CPU.
std::uint64_t model_memory();

}  // namespace hearth::cli
