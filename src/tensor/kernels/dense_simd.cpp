#include "tensor/kernels/dense_simd.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/dense_simd.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tensor/kernels/floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::kernels {
namespace HWY_NAMESPACE {

constexpr int inputs_at_once = 256;  // of the weights of a block, so that they stay in L1

/// Where one tile works: `inputs` inputs from x and weights on, added to y.
struct Tile {
  const float* x;
  std::size_t x_stride;  // between rows
  const std::byte* weights;
  std::size_t block_stride;  // bytes between blocks of weights
  float* y;
  std::size_t y_stride;  // between blocks of y; rows lie 16 apart
  int inputs;
};

/// R rows times B blocks.
template <class Stored, int R, int B>
HWY_NOINLINE void multiply(const Tile& tile) {
  using Type = typename Stored::Type;
  constexpr int vectors = B * block_vectors;
  const F32 d;
  VF sums[R][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      sums[r][j] = hn::LoadU(d, tile.y + (j / block_vectors) * tile.y_stride + r * block_lanes +
                                    (j % block_vectors) * f32_lanes);
    }
  }
  const Type* HWY_RESTRICT w[B];
#pragma GCC unroll 8
  for (int b = 0; b < B; ++b) {
    w[b] = reinterpret_cast<const Type*>(tile.weights + b * tile.block_stride);
  }
  const float* HWY_RESTRICT x = tile.x;
  for (int k = 0; k < tile.inputs; ++k) {
    VF wv[vectors];
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      wv[j] = Stored::load(d, w[j / block_vectors] + static_cast<std::size_t>(k) * block_lanes +
                                  (j % block_vectors) * f32_lanes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const VF xv = hn::Set(d, x[r * tile.x_stride + k]);
#pragma GCC unroll 16
      for (int j = 0; j < vectors; ++j) sums[r][j] = hn::MulAdd(xv, wv[j], sums[r][j]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      hn::StoreU(sums[r][j], d,
                 tile.y + (j / block_vectors) * tile.y_stride + r * block_lanes +
                     (j % block_vectors) * f32_lanes);
    }
  }
}

template <class Stored, int B>
void multiply_rows(const Tile& tile, std::size_t rows) {
  switch (rows) {
    case 1:
      return multiply<Stored, 1, B>(tile);
    case 2:
      return multiply<Stored, 2, B>(tile);
    case 3:
      return multiply<Stored, 3, B>(tile);
    case 4:
      return multiply<Stored, 4, B>(tile);
    case 5:
      return multiply<Stored, 5, B>(tile);
    default:
      return multiply<Stored, 6, B>(tile);
  }
}

/// One row: four blocks together, or each output's chain would wait for itself.
template <class Stored>
void one_row(Tile tile, std::size_t blocks) {
  for (; blocks >= 4; blocks -= 4) {
    multiply<Stored, 1, 4>(tile);
    tile.weights += 4 * tile.block_stride;
    tile.y += 4 * tile.y_stride;
  }
  for (; blocks > 0; --blocks) {
    multiply<Stored, 1, 1>(tile);
    tile.weights += tile.block_stride;
    tile.y += tile.y_stride;
  }
}

template <class Stored>
void some_rows(const Tile& whole, std::size_t blocks, std::size_t rows) {
  for (std::size_t b = 0; b < blocks; ++b) {
    for (int k = 0; k < whole.inputs; k += inputs_at_once) {
      for (std::size_t r = 0; r < rows; r += 6) {
        Tile tile = whole;
        tile.x += r * whole.x_stride + k;
        tile.weights += b * whole.block_stride +
                        static_cast<std::size_t>(k) * block_lanes * sizeof(typename Stored::Type);
        tile.y += b * whole.y_stride + r * block_lanes;
        tile.inputs = std::min(inputs_at_once, whole.inputs - k);
        multiply_rows<Stored, 1>(tile, std::min<std::size_t>(6, rows - r));
      }
    }
  }
}

template <class Stored>
void any_rows(const Tile& tile, std::size_t blocks, std::size_t rows) {
  if (rows == 1) return one_row<Stored>(tile, blocks);
  some_rows<Stored>(tile, blocks, rows);
}

void DenseBlocks(const DenseView& weights, std::size_t first_block, std::size_t blocks,
                 const float* x, std::size_t rows, float* y) {
  std::fill_n(y, blocks * rows * block_lanes, 0.0f);
  const Tile tile{.x = x,
                  .x_stride = static_cast<std::size_t>(weights.inputs),
                  .weights = weights.data + first_block * weights.block_bytes(),
                  .block_stride = weights.block_bytes(),
                  .y = y,
                  .y_stride = rows * block_lanes,
                  .inputs = weights.inputs};
  switch (weights.kind) {
    case FloatKind::f32:
      return any_rows<StoredF32>(tile, blocks, rows);
    case FloatKind::f16:
      return any_rows<StoredF16>(tile, blocks, rows);
    case FloatKind::bf16:
      return any_rows<StoredBf16>(tile, blocks, rows);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::kernels {

HWY_EXPORT(DenseBlocks);

void dense_blocks(const DenseView& weights, std::size_t first_block, std::size_t blocks,
                  const float* x, std::size_t rows, float* y) {
  HWY_DYNAMIC_DISPATCH(DenseBlocks)(weights, first_block, blocks, x, rows, y);
}

}  // namespace hearth::kernels
#endif  // HWY_ONCE
