#include "tensor/kernels/node.h"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "mlx/allocator.h"

namespace hearth::kernels {
namespace mx = mlx::core;
namespace {

/// Copies a strided array of any rank to row order.
void copy_in_order(const float* from, const mx::Shape& shape, const mx::Strides& strides,
                   float* to) {
  const int rank = static_cast<int>(shape.size());
  const int last = shape[rank - 1];
  const std::int64_t step = strides[rank - 1];
  std::size_t rows = 1;
  for (int a = 0; a + 1 < rank; ++a) rows *= shape[a];
  std::vector<int> at(rank, 0);
  for (std::size_t r = 0; r < rows; ++r, to += last) {
    std::int64_t start = 0;
    for (int a = 0; a + 1 < rank; ++a) start += at[a] * strides[a];
    for (int i = 0; i < last; ++i) to[i] = from[start + i * step];
    for (int a = rank - 2; a >= 0 && ++at[a] == shape[a]; --a) at[a] = 0;
  }
}

}  // namespace

mx::Stream cpu_stream() { return mx::default_stream(mx::Device(mx::Device::cpu)); }

void Node::eval_gpu(const std::vector<Array>&, std::vector<Array>&) {
  throw std::runtime_error(std::string(name()) + " runs on the CPU only");
}

const float* Node::row_order(const Array& input) {
  if (input.flags().row_contiguous || input.size() == 0) return input.data<float>();
  Array copy(input.shape(), mx::float32, nullptr, {});
  float* to = allocate(copy);
  dispatch([from = input.data<float>(), shape = input.shape(), strides = input.strides(), to] {
    copy_in_order(from, shape, strides, to);
  });
  mx::cpu::get_command_encoder(stream()).add_temporary(std::move(copy));
  return to;
}

float* allocate(Array& output) {
  output.set_data(mx::allocator::malloc(output.nbytes()));
  return output.data<float>();
}

void require_float32(const Array& x, const char* what) {
  if (x.dtype() == mx::float32) return;
  std::ostringstream found;
  found << x.dtype();
  throw std::invalid_argument(
      fmt::format("{} is {}, expected float32: cast it with astype", what, found.str()));
}

}  // namespace hearth::kernels
