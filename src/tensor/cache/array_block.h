// A block that is one MLX array: keys, then values.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "tensor/array.h"
#include "tensor/cache/kv_block.h"

namespace hearth::tensor {

class ArrayBlock final : public KvBlock {
 public:
  /// @param k, v  [1, Hk, L, Dh] of one dtype; copied, evaluated by make(). Null
  ///              where they differ in shape
  static std::shared_ptr<const ArrayBlock> make(const Array& k, const Array& v);
  /// From another's format() and bytes(); null where they do not fit together.
  static std::shared_ptr<const ArrayBlock> parse(std::string_view format,
                                                 std::span<const std::byte> bytes);

  std::string format() const override;
  std::span<const std::byte> bytes() const override;

  int tokens() const { return both_.shape(2); }
  Array keys() const;    // [1, Hk, L, Dh]
  Array values() const;  // alike

 private:
  explicit ArrayBlock(Array both) : both_(std::move(both)) {}

  const Array both_;  // [2, Hk, L, Dh], evaluated, in row order
};

/// Keys and values of blocks that join, [1, Hk, sum of L, Dh]; none where one is of another kind.
std::optional<std::pair<Array, Array>> join_blocks(std::span<const KvBlockPtr> blocks);

}  // namespace hearth::tensor
