// The plain cache: one growing array for keys and one for values, 256 tokens at a time.
#pragma once

#include <optional>

#include "tensor/cache/array_block.h"
#include "tensor/cache/kv_cache.h"

namespace hearth::tensor {

/// Source: mlx-lm models/cache.py, KVCache, op for op.
class ContiguousKvCache : public KvCache {
 public:
  static constexpr int step = 256;  // tokens the arrays grow by

  int offset() const override { return offset_; }
  Past append(const Array& k, const Array& v) override;
  Past latest(int length) const override;
  void collect(std::vector<Array>& arrays) const override;
  bool trim(int n) override;
  std::size_t bytes() const override;
  PastNeeded past_needed() const override { return {.kind = PastNeeded::Kind::all}; }
  KvBlockPtr block(int from, int to) const override;  // of any length
  bool start(std::span<const KvBlockPtr> blocks, int offset) override;
  KvBlockPtr parse_block(std::string_view format, std::span<const std::byte> bytes) const override {
    return ArrayBlock::parse(format, bytes);
  }

 protected:
  /// Makes room for as many tokens as k and v have.
  void grow(const Array& k, const Array& v);

  std::optional<Array> keys_, values_;  // [1, Hk, capacity, Dh]
  int offset_ = 0;
};

}  // namespace hearth::tensor
