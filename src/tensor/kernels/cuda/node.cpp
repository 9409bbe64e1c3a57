#include "tensor/kernels/cuda/node.h"

#include <stdexcept>
#include <string_view>

#include "tensor/kernels/cuda/cuda.h"
#include "tensor/kernels/node.h"

namespace hearth::kernels::cuda {
namespace mx = mlx::core;
namespace {

constexpr std::size_t row_padding = 32;  // rows that one launch may read beyond the last

const Array& behind_reshapes(const Array& x) {
  const Array* from = &x;
  while (from->has_primitive() && std::string_view(from->primitive().name()) == "Reshape") {
    from = &from->inputs()[0];
  }
  return *from;
}

}  // namespace

void GpuNode::eval_cpu(const std::vector<Array>&, std::vector<Array>&) {
  throw std::runtime_error(std::string(name()) + " runs on the GPU only");
}

std::pair<mx::Shape, mx::Shape> laid_shapes(std::size_t rows, int width) {
  if (!takes_inputs(width)) return {{0}, {0}};
  const int padded = static_cast<int>((rows + row_padding - 1) / row_padding * row_padding);
  return {{padded, width / 2}, {padded, width / 32}};
}

std::optional<Laid> laid_out(const Array& x) {
  const Array& from = behind_reshapes(x);
  if (!from.has_primitive() || from.shape(-1) != x.shape(-1)) return {};
  const auto* node = dynamic_cast<const GpuNode*>(&from.primitive());
  if (!node || node->laid_out() < 0) return {};
  const auto outputs = from.outputs();
  const std::size_t at = node->laid_out();
  if (outputs[at].id() != from.id() || outputs[at + 1].size() == 0) return {};
  return Laid{outputs[at + 1], outputs[at + 2]};
}

FragmentsArgument lay_out(Launcher& launch, Array& values, Array& sums, int width) {
  launch.allocate(values);
  launch.allocate(sums);
  if (values.size() == 0) return {};
  return {
      .values = launch.write<void>(values), .sums = launch.write<float>(sums), .tiles = width / 64};
}

Array in_rows(const Array& x, const char* what) {
  require_float32(x, what);
  const Array& from = behind_reshapes(x);
  const bool ours = from.has_primitive() && dynamic_cast<const GpuNode*>(&from.primitive());
  return ours ? x : mx::contiguous(x);
}

std::size_t rows_of(const Array& x) { return x.shape(-1) == 0 ? 0 : x.size() / x.shape(-1); }

}  // namespace hearth::kernels::cuda
