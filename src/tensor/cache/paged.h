// Keys and values in pages of our own memory, for the attention kernel.
#pragma once

#include <memory>

#include "tensor/cache/kv_cache.h"
#include "tensor/kernels/kernels.h"

namespace hearth::tensor {

class PagedKvCache final : public KvCache {
 public:
  explicit PagedKvCache(const CacheSpec& spec)
      : pages_(std::make_shared<kernels::PagedKv>(spec.kv_heads, spec.head_dim, spec.window)) {}

  int offset() const override { return pages_->offset(); }
  Array attend(const Array& q, const Array& k, const Array& v, float scale) override;
  void collect(std::vector<Array>&) const override {}
  bool trim(int n) override;
  std::size_t bytes() const override { return pages_->bytes(); }
  PagedKvCache* paged() override { return this; }

  const std::shared_ptr<kernels::PagedKv>& pages() const { return pages_; }

 private:
  std::shared_ptr<kernels::PagedKv> pages_;
};

}  // namespace hearth::tensor
