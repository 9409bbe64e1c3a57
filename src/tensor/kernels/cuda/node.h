// A node of MLX's graph that runs on the GPU's stream, and how activations travel between nodes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mlx/primitives.h"
#include "tensor/kernels/cuda/arguments.h"
#include "tensor/kernels/cuda/launch.h"

namespace hearth::kernels::cuda {

/// Base of our nodes. It has no gradient and no vmap: both throw MLX's own error.
class GpuNode : public mlx::core::Primitive {
 public:
  GpuNode() : Primitive(mlx::core::default_stream(mlx::core::default_device())) {}
  void eval_cpu(const std::vector<Array>&, std::vector<Array>&) override;

  /// The output that outputs behind it hold laid out for products; none: -1.
  virtual int laid_out() const { return -1; }
};

/// Activations as products read them: values and sums, see `Fragments` in the CUDA C.
struct Laid {
  Array values, sums;
};

/// Shapes of the two for so many rows of `width` numbers. Both are empty where a product cannot
/// take that width.
std::pair<mlx::core::Shape, mlx::core::Shape> laid_shapes(std::size_t rows, int width);

/// What the node that makes x has laid out of it already.
std::optional<Laid> laid_out(const Array& x);

/// Fills the argument for outputs `values` and `sums`, which get their memory.
FragmentsArgument lay_out(Launcher& launch, Array& values, Array& sums, int width);

/// In row order and float32. @throws std::invalid_argument for another dtype, naming `what`
Array in_rows(const Array& x, const char* what);

/// Rows of x over its last axis.
std::size_t rows_of(const Array& x);

}  // namespace hearth::kernels::cuda
