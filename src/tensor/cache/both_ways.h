// The cache of an encoder's layer, which has one step: nothing is kept, and everything is seen.
#pragma once

#include "tensor/cache/kv_cache.h"

namespace hearth::tensor {

class BothWaysCache final : public KvCache {
 public:
  /// @param window  tokens less than so far away are seen; 0: all
  explicit BothWaysCache(int window) : window_(window) {}

  int offset() const override { return 0; }
  Past append(const Array& k, const Array& v) override;
  void collect(std::vector<Array>&) const override {}
  bool trim(int n) override { return n == 0; }
  std::size_t bytes() const override { return 0; }
  PastNeeded past_needed() const override { return {.kind = PastNeeded::Kind::all}; }
  KvBlockPtr block(int, int) const override { return nullptr; }
  bool start(std::span<const KvBlockPtr>, int) override { return false; }
  KvBlockPtr parse_block(std::string_view, std::span<const std::byte>) const override {
    return nullptr;
  }

 private:
  const int window_;
};

}  // namespace hearth::tensor
