// Builds without CUDA: nothing is available, so nothing gets as far as a launch.
#ifndef HEARTH_CUDA
#include <stdexcept>

#include "tensor/kernels/cuda/launch.h"

namespace hearth::kernels::cuda {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error("this build has no CUDA kernels: it needs a CUDA pack of MLX");
}

}  // namespace

bool available() { return false; }
Array device_memory(const mlx::core::Shape&, mlx::core::Dtype) { refuse(); }
Launcher::Launcher(mlx::core::Stream stream) : stream_(stream) { refuse(); }
void Launcher::allocate(Array&) { refuse(); }
Array Launcher::scratch(std::size_t) { refuse(); }
void* Launcher::address(const Array&) { refuse(); }
void Launcher::run(std::string_view, Grid, unsigned, const void*, unsigned) { refuse(); }

}  // namespace hearth::kernels::cuda
#endif
