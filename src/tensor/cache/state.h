// What a recurrent layer carries from token to token: a few arrays whose size does not grow.
#pragma once

#include <optional>
#include <vector>

#include "tensor/cache/kv_cache.h"

namespace hearth::tensor {

/// Source: mlx-lm models/cache.py, ArraysCache.
class StateCache final : public KvCache {
 public:
  explicit StateCache(int arrays) : arrays_(arrays) {}

  int offset() const override { return offset_; }
  /// The state after offset() tokens; none before the first.
  const std::optional<Array>& get(int which) const { return arrays_[which]; }
  void set(int which, Array state) { arrays_[which] = std::move(state); }
  /// Moves on by the tokens that the state has seen.
  void advance(int tokens) { offset_ += tokens; }

  Past append(const Array& k, const Array& v) override;  // throws: there are no keys and values
  void collect(std::vector<Array>& arrays) const override;
  void mark() override;
  bool roll_back() override;
  bool trim(int n) override { return n == 0; }
  std::size_t bytes() const override;
  PastNeeded past_needed() const override { return {.kind = PastNeeded::Kind::state}; }
  int block_tokens() const override { return 1; }     // whatever the other layers' are
  KvBlockPtr block(int from, int to) const override;  // with `to` at offset(), whatever `from`
  bool start(std::span<const KvBlockPtr> blocks, int offset) override;
  KvBlockPtr parse_block(std::string_view format, std::span<const std::byte> bytes) const override;

  /// The cache of a recurrent layer. @throws std::logic_error for another kind
  static StateCache& of(KvCache& cache);

 private:
  struct Mark {
    std::vector<std::optional<Array>> arrays;
    int offset;
  };
  std::vector<std::optional<Array>> arrays_;
  int offset_ = 0;
  std::optional<Mark> marked_;
};

}  // namespace hearth::tensor
