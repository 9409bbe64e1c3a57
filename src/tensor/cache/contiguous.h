// The plain cache: one growing array for keys and one for values, 256 tokens at a time.
#pragma once

#include <optional>

#include "tensor/cache/kv_cache.h"

namespace hearth::tensor {

/// Source: mlx-lm models/cache.py, KVCache, op for op.
class ContiguousKvCache final : public KvCache {
 public:
  static constexpr int step = 256;  // tokens the arrays grow by

  int offset() const override { return offset_; }
  Array attend(const Array& q, const Array& k, const Array& v, float scale) override;
  void collect(std::vector<Array>& arrays) const override;
  bool trim(int n) override;
  std::size_t bytes() const override;

 private:
  void grow(const Array& k, const Array& v);

  std::optional<Array> keys_, values_;  // [1, Hk, capacity, Dh]
  int offset_ = 0;
};

}  // namespace hearth::tensor
