#include "tensor/cache/array_block.h"

#include <fmt/format.h>

#include <cstdio>

namespace hearth::tensor {
namespace {

constexpr mx::Dtype dtypes[] = {mx::float32, mx::bfloat16, mx::float16};

std::string describe(mx::Dtype dtype, const Shape& shape) {
  return fmt::format("{} {}x{}x{}", to_string(dtype), shape[1], shape[2], shape[3]);
}

Array half_of(const Array& both, int which) {
  auto stop = both.shape();
  stop[0] = which + 1;
  return mx::slice(both, {which, 0, 0, 0}, stop);
}

}  // namespace

std::shared_ptr<const ArrayBlock> ArrayBlock::make(const Array& k, const Array& v) {
  if (k.shape() != v.shape()) return nullptr;  // a latent and what turns with it
  auto both = mx::contiguous(mx::concatenate({k, v}, 0));
  mx::eval(both);
  return std::shared_ptr<const ArrayBlock>(new ArrayBlock(std::move(both)));
}

std::shared_ptr<const ArrayBlock> ArrayBlock::parse(std::string_view format,
                                                    std::span<const std::byte> bytes) {
  const auto blank = format.find(' ');
  if (blank == format.npos) return nullptr;
  int heads = 0, tokens = 0, dim = 0;
  const std::string numbers(format.substr(blank + 1));
  if (std::sscanf(numbers.c_str(), "%dx%dx%d", &heads, &tokens, &dim) != 3) return nullptr;
  if (heads < 1 || tokens < 1 || dim < 1) return nullptr;
  const Shape shape{2, heads, tokens, dim};
  for (const auto dtype : dtypes) {
    if (describe(dtype, shape) != format) continue;
    const double size = 2.0 * heads * tokens * dim * double(mx::size_of(dtype));
    if (size != double(bytes.size())) return nullptr;
    Array both(mx::allocator::malloc(bytes.size()), shape, dtype);
    std::copy(bytes.begin(), bytes.end(), both.data<std::byte>());
    return std::shared_ptr<const ArrayBlock>(new ArrayBlock(std::move(both)));
  }
  return nullptr;
}

std::string ArrayBlock::format() const { return describe(both_.dtype(), both_.shape()); }

std::span<const std::byte> ArrayBlock::bytes() const {
  return {both_.data<std::byte>(), both_.nbytes()};
}

Array ArrayBlock::keys() const { return half_of(both_, 0); }
Array ArrayBlock::values() const { return half_of(both_, 1); }

std::optional<std::pair<Array, Array>> join_blocks(std::span<const KvBlockPtr> blocks) {
  std::vector<Array> keys, values;
  for (const auto& block : blocks) {
    const auto* array = dynamic_cast<const ArrayBlock*>(block.get());
    if (!array) return std::nullopt;
    keys.push_back(array->keys());
    values.push_back(array->values());
  }
  if (keys.empty()) return std::nullopt;
  return std::pair{mx::concatenate(keys, 2), mx::concatenate(values, 2)};
}

}  // namespace hearth::tensor
