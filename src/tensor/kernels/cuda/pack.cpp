// Repacks weights at load. A tile is 16 outputs by 64 inputs. With output 8h + g and input 32j + 8t
// + i of a tile, lane 4g + t of a warp reads its numbers in one or more steps of 16 bytes.
#include <fmt/format.h>

#include <stdexcept>

#include "tensor/kernels/cuda/cuda.h"
#include "tensor/kernels/cuda/packed_cuda.h"

namespace hearth::kernels::cuda {
namespace mx = mlx::core;
namespace {

/// Outputs filled up with zeros to a multiple of 16.
Array whole_tiles(const Array& x) {
  const int missing = (16 - x.shape(0) % 16) % 16;
  return missing == 0 ? x : mx::pad(x, {{0, missing}, {0, 0}});
}

Array evaluated(const Array& x) {
  Array y = mx::contiguous(x);
  y.eval();
  return y;
}

/// Words of packed 4-bit numbers: [tile][kt][g][t][h][j].
Array nibble_tiles(const Array& words, int tiles, int k_tiles) {
  return mx::transpose(mx::reshape(words, {tiles, 2, 8, k_tiles, 2, 4}), {0, 3, 2, 5, 1, 4});
}

/// Words of packed 8-bit numbers, u which half of eight: [tile][kt][j][g][t][h][u].
Array byte_tiles(const Array& words, int tiles, int k_tiles) {
  return mx::transpose(mx::reshape(words, {tiles, 2, 8, k_tiles, 2, 4, 2}), {0, 3, 4, 2, 5, 1, 6});
}

/// bfloat16 numbers, i = 4·high + low: [tile][kt][j][h][g][t][low][high].
Array float_tiles(const Array& x, int tiles, int k_tiles) {
  return mx::transpose(mx::reshape(x, {tiles, 2, 8, k_tiles, 2, 4, 2, 4}),
                       {0, 3, 4, 1, 2, 5, 7, 6});
}

/// The integers of packed weights in a wider width that the kernels have.
Array widened(const Array& weight, int inputs, int group_size, int bits, int wide) {
  const mx::Shape groups{weight.shape(0), inputs / group_size};
  const auto integers = mx::astype(
      mx::dequantize(weight, mx::ones(groups, mx::float32), mx::zeros(groups, mx::float32),
                     group_size, bits, "affine", {}, mx::float32),
      mx::uint32);
  const int a_word = 32 / wide;
  const auto apart = mx::reshape(integers, {weight.shape(0), inputs / a_word, a_word});
  const auto shifts = mx::multiply(mx::arange(0, a_word, mx::uint32), Array(wide, mx::uint32));
  return mx::astype(mx::sum(mx::left_shift(apart, shifts), -1), mx::uint32);
}

/// Scales beside biases: [tile][group][g][h] of pairs.
Array scale_tiles(const Array& scales, const Array& biases, mx::Dtype type, int tiles, int groups) {
  const auto pairs =
      mx::stack({whole_tiles(mx::astype(scales, type)), whole_tiles(mx::astype(biases, type))}, -1);
  const auto ordered = mx::transpose(mx::reshape(pairs, {tiles, 2, 8, groups, 2}), {0, 3, 2, 1, 4});
  return mx::view(mx::reshape(mx::contiguous(ordered), {-1}), mx::uint32);
}

std::optional<Array> floats(const std::optional<Array>& x) {
  if (!x) return {};
  return evaluated(mx::astype(*x, mx::float32));
}

void require_inputs(int inputs) {
  if (takes_inputs(inputs)) return;
  throw std::invalid_argument(
      fmt::format("a matrix of {} inputs: the CUDA kernels take multiples of 64", inputs));
}

}  // namespace

bool takes_inputs(int inputs) { return inputs > 0 && inputs % 64 == 0; }

std::shared_ptr<const PackedLinear> pack_affine(const Array& weight, const Array& scales,
                                                const Array& biases, int group_size, int bits,
                                                const std::optional<Array>& bias) {
  const int outputs = weight.shape(0), groups = scales.shape(1), inputs = groups * group_size;
  require_inputs(inputs);
  const int tiles = (outputs + 15) / 16, k_tiles = inputs / 64;
  const int wide = bits <= 4 ? 4 : 8;
  const auto words =
      whole_tiles(bits == wide ? weight : widened(weight, inputs, group_size, bits, wide));
  const bool f16 = scales.dtype() != mx::bfloat16;
  return std::make_shared<PackedCuda>(PackedCuda::Parts{
      .weights = evaluated(wide == 4 ? nibble_tiles(words, tiles, k_tiles)
                                     : byte_tiles(words, tiles, k_tiles)),
      .scales =
          evaluated(scale_tiles(scales, biases, f16 ? mx::float16 : mx::bfloat16, tiles, groups)),
      .bias = floats(bias),
      .outputs = outputs,
      .inputs = inputs,
      .bits = wide,
      .groups = groups,
      .f16_scales = f16});
}

std::shared_ptr<const PackedLinear> pack_dense(const Array& weight,
                                               const std::optional<Array>& bias) {
  const int outputs = weight.shape(0), inputs = weight.shape(1);
  require_inputs(inputs);
  const auto numbers = whole_tiles(mx::astype(weight, mx::bfloat16));
  const auto tiles = float_tiles(numbers, (outputs + 15) / 16, inputs / 64);
  return std::make_shared<PackedCuda>(PackedCuda::Parts{
      .weights = evaluated(mx::view(mx::reshape(mx::contiguous(tiles), {-1}), mx::uint32)),
      .scales = {},
      .bias = floats(bias),
      .outputs = outputs,
      .inputs = inputs,
      .bits = 16,
      .groups = 0,
      .f16_scales = false});
}

bool packed(const PackedLinear& weights) {
  return dynamic_cast<const PackedCuda*>(&weights) != nullptr;
}

std::size_t PackedCuda::bytes() const {
  return parts_.weights.nbytes() + (parts_.scales ? parts_.scales->nbytes() : 0) +
         (parts_.bias ? parts_.bias->nbytes() : 0);
}

std::string PackedCuda::kind() const {
  if (parts_.bits == 16) return "bf16";
  return fmt::format("q{}{}", parts_.bits, parts_.inputs / parts_.groups == 32 ? "g32" : "");
}

}  // namespace hearth::kernels::cuda
