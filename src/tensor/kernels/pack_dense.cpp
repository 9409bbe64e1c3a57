// Repacks float weights [N, K] into [block][K][16 outputs].
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "tensor/kernels/packed.h"
#include "tensor/kernels/thread_pool.h"

namespace hearth::kernels {
namespace mx = mlx::core;
namespace {

std::optional<FloatKind> kind_of(mx::Dtype dtype) {
  if (dtype == mx::float32) return FloatKind::f32;
  if (dtype == mx::float16) return FloatKind::f16;
  if (dtype == mx::bfloat16) return FloatKind::bf16;
  return std::nullopt;
}

template <class T>
void pack_block(const T* from, const DenseView& view, std::size_t block, T* to) {
  const std::size_t first = block * block_lanes;
  const std::size_t lanes = std::min<std::size_t>(block_lanes, view.outputs - first);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const T* row = from + (first + lane) * view.inputs;
    for (int k = 0; k < view.inputs; ++k)
      to[static_cast<std::size_t>(k) * block_lanes + lane] = row[k];
  }
}

template <class T>
void pack(const Array& weight, const DenseView& view, std::byte* to) {
  for_each_task(blocks_of(view.outputs), true, [&](std::size_t block) {
    pack_block(weight.data<T>(), view, block,
               reinterpret_cast<T*>(to + block * view.block_bytes()));
  });
}

}  // namespace

PackedDense::PackedDense(const Array& weight, const std::optional<Array>& bias) : Packed(bias) {
  const auto kind = kind_of(weight.dtype());
  if (!kind || weight.ndim() != 2 || weight.size() == 0) {
    throw std::invalid_argument(
        fmt::format("packed linear: expected a matrix of float32, float16 or bfloat16, found {} "
                    "dimensions, {} numbers of {} bytes",
                    weight.ndim(), weight.size(), weight.itemsize()));
  }
  const Array rows = settled(weight);
  view_ = {.data = nullptr, .outputs = weight.shape(0), .inputs = weight.shape(1), .kind = *kind};
  data_ = aligned_bytes(blocks_of(view_.outputs) * view_.block_bytes());
  view_.data = data_.get();
  if (*kind == FloatKind::f32) {
    pack<std::uint32_t>(rows, view_, data_.get());
  } else {
    pack<std::uint16_t>(rows, view_, data_.get());
  }
}

void PackedDense::multiply(std::size_t first_block, std::size_t blocks, const Activations& x,
                           std::size_t first_row, std::size_t rows, float* y) const {
  dense_blocks(view_, first_block, blocks, x.exact + first_row * view_.inputs, rows, y);
}

void PackedDense::row(int output, float* out) const {
  const std::size_t size = size_of(view_.kind);
  const std::byte* from =
      data_.get() + output / block_lanes * view_.block_bytes() + output % block_lanes * size;
  for (int k = 0; k < view_.inputs; ++k, from += block_lanes * size) {
    out[k] = stored_float(view_.kind, from);
  }
}

}  // namespace hearth::kernels
