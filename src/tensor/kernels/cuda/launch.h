// How a node of the graph runs kernels on an NVIDIA device. launch_cuda.cpp is in builds with a
// CUDA pack of MLX, launch_none.cpp in all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mlx/mlx.h"

namespace hearth::kernels::cuda {

using Array = mlx::core::array;

/// Whether this build and this machine run the kernels: a CUDA pack, a device of compute capability
/// 8.0 or more, and NVIDIA's run-time compiler.
bool available();

/// An array of memory on the default device, not written yet.
Array device_memory(const mlx::core::Shape& shape, mlx::core::Dtype type);

struct Grid {
  unsigned x = 1, y = 1, z = 1;
};

/// The kernels of one node's evaluation, on the node's stream and in the order of run().
class Launcher {
 public:
  explicit Launcher(mlx::core::Stream stream);

  /// Gives an output memory on the device.
  void allocate(Array& output);
  /// Memory on the device that lives until everything run here is done.
  Array scratch(std::size_t bytes);
  /// Where an array is on the device. The launch that follows reads it, or writes it.
  template <class T>
  const T* read(const Array& x) {
    reads_.push_back(x);
    return static_cast<const T*>(address(x));
  }
  template <class T>
  T* write(const Array& x) {
    writes_.push_back(x);
    return static_cast<T*>(address(x));
  }

  /// Runs a kernel whose one argument is a struct.
  /// @param shared_bytes  memory of a block beside what its code declares; the same at every launch
  /// @throws std::runtime_error where it does not compile or cannot be launched
  template <class Arguments>
  void run(std::string_view kernel, Grid grid, unsigned threads, const Arguments& arguments,
           unsigned shared_bytes = 0) {
    run(kernel, grid, threads, static_cast<const void*>(&arguments), shared_bytes);
  }

  /// Where an array is, for one whose order of use is told by others.
  static void* address(const Array& x);

 private:
  void run(std::string_view kernel, Grid grid, unsigned threads, const void* arguments,
           unsigned shared_bytes);

  const mlx::core::Stream stream_;
  std::vector<Array> reads_, writes_;
};

}  // namespace hearth::kernels::cuda
