// The sliding-window cache: a ring that keeps the last `window` tokens.
#pragma once

#include <optional>

#include "tensor/cache/array_block.h"
#include "tensor/cache/kv_cache.h"

namespace hearth::tensor {

/// Source: mlx-lm models/cache.py, RotatingKVCache with keep = 0, op for op.
class RotatingKvCache final : public KvCache {
 public:
  static constexpr int step = 256;  // tokens the ring grows by until it is full

  explicit RotatingKvCache(int window) : window_(window) {}

  int offset() const override { return offset_; }
  Past append(const Array& k, const Array& v) override;
  Past latest(int length) const override;
  void collect(std::vector<Array>& arrays) const override;
  bool trim(int n) override;  // only before the ring has wrapped
  std::size_t bytes() const override;
  PastNeeded past_needed() const override { return {.kind = PastNeeded::Kind::state}; }
  KvBlockPtr block(int from,
                   int to) const override;  // with `to` at offset(): the state, whatever `from`
  bool start(std::span<const KvBlockPtr> blocks, int offset) override;
  KvBlockPtr parse_block(std::string_view format, std::span<const std::byte> bytes) const override {
    return ArrayBlock::parse(format, bytes);
  }

 private:
  void concatenate(const Array& k, const Array& v);  // several tokens: the ring unrolled
  void overwrite(const Array& k, const Array& v);    // one token, in place
  Array in_order(const Array& ring) const;

  const int window_;
  std::optional<Array> keys_, values_;  // [1, Hk, S, Dh]
  int offset_ = 0;
  int index_ = 0;  // where the next token goes
};

/// The causal mask of `length` new tokens after `offset` kept ones, each seeing `window` back.
/// @return [length, offset + length] bool. Source: mlx-lm models/base.py, create_causal_mask.
Array sliding_mask(int length, int offset, int window);

}  // namespace hearth::tensor
