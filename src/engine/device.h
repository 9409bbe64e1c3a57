// Where an engine computes: the device that was asked for, and its thread's stream.
#pragma once

#include <mlx/mlx.h>

#include <string>

#include "base/result.h"

namespace hearth::engine {

/// The MLX device that `--device` names.
/// Error: unsupported, param "device".
Result<mlx::core::Device> choose_device(const std::string& name);

/// The calling thread's stream of CPU work for as long as this lives. MLX never ends the thread
/// that it starts for such a stream, so those of engines that ended are used again.
class CpuStream {
 public:
  CpuStream();
  ~CpuStream();
  CpuStream(const CpuStream&) = delete;

 private:
  const mlx::core::Stream stream_;
};

}  // namespace hearth::engine
