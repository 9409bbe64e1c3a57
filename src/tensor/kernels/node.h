// A node of MLX's graph that runs on the CPU stream, and access to its inputs.
#pragma once

#include <utility>
#include <vector>

#include "mlx/backend/cpu/encoder.h"
#include "mlx/primitives.h"
#include "tensor/kernels/kernels.h"

namespace hearth::kernels {

/// The stream of this thread that CPU nodes run on.
mlx::core::Stream cpu_stream();

/// Base of our nodes. It has no gradient and no vmap: both throw MLX's own error.
class Node : public mlx::core::Primitive {
 public:
  Node() : Primitive(cpu_stream()) {}
  void eval_gpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override;

 protected:
  /// Runs `work` on the stream, after what was dispatched before.
  template <class Work>
  void dispatch(Work work) {
    mlx::core::cpu::get_command_encoder(stream()).dispatch(std::move(work));
  }

  /// The numbers of a float32 input in row order. Where its memory is not in that order, a copy is
  /// dispatched first and lives until the work dispatched after it is done.
  const float* row_order(const Array& input);
};

/// Gives an output its memory.
/// @return where to write
float* allocate(Array& output);

/// @throws std::invalid_argument unless x is float32; `what` names it: "linear: x"
void require_float32(const Array& x, const char* what);

}  // namespace hearth::kernels
