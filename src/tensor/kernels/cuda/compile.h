// From CUDA C to machine code: NVIDIA's run-time compiler, and the results of earlier starts on
// disk.
#pragma once

#include <string>
#include <string_view>

namespace hearth::kernels::cuda {

/// Whether the compiler's library is there.
bool compiler_there();

/// The machine code of the unit that has `kernel`, for a device's compute capability. Kept in the
/// cache folder: a second start of the program compiles nothing.
/// @throws std::runtime_error with the compiler's words
std::string compiled(std::string_view kernel, int major, int minor);

}  // namespace hearth::kernels::cuda
