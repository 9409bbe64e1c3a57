// Keys and values in pages of our own memory, for the attention kernel.
#pragma once

#include <memory>

#include "tensor/cache/kv_cache.h"
#include "tensor/kernels/kernels.h"

namespace hearth::tensor {

class PagedKvCache final : public KvCache {
 public:
  explicit PagedKvCache(const CacheSpec& spec)
      : spec_(spec),
        pages_(std::make_shared<kernels::PagedKv>(spec.kv_heads, spec.head_dim, spec.window)) {}

  int offset() const override { return pages_->offset(); }
  Array attend(const Array& q, const Array& k, const Array& v, const Scoring& scoring) override;
  Past append(const Array& k, const Array& v) override;  // throws: pages are no arrays
  void collect(std::vector<Array>&) const override {}
  void mark() override { pages_->mark(); }
  bool roll_back() override { return pages_->roll_back(); }
  bool trim(int n) override;
  std::size_t bytes() const override { return pages_->bytes(); }
  void collect_memory(std::vector<Memory>& memory) const override;
  PastNeeded past_needed() const override;
  int block_tokens() const override;
  KvBlockPtr block(int from, int to) const override;  // a page
  bool start(std::span<const KvBlockPtr> blocks, int offset) override;
  KvBlockPtr parse_block(std::string_view format, std::span<const std::byte> bytes) const override;
  PagedKvCache* paged() override { return this; }

  const std::shared_ptr<kernels::PagedKv>& pages() const { return pages_; }

 private:
  std::string format() const;

  const CacheSpec spec_;
  std::shared_ptr<kernels::PagedKv> pages_;
};

}  // namespace hearth::tensor
