#include "tensor/cache/paged.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/kernels/paged_kv.h"

namespace hearth::tensor {
namespace {

/// A full page, which sequences share.
class PageBlock final : public KvBlock {
 public:
  PageBlock(std::shared_ptr<kernels::Page> page, std::string format)
      : page_(std::move(page)), format_(std::move(format)) {}

  std::string format() const override { return format_; }
  std::span<const std::byte> bytes() const override { return {page_->memory.get(), page_->bytes}; }
  const std::shared_ptr<kernels::Page>& page() const { return page_; }

 private:
  const std::shared_ptr<kernels::Page> page_;
  const std::string format_;
};

}  // namespace

Past PagedKvCache::append(const Array&, const Array&) {
  throw std::logic_error("keys and values in pages cannot be read as arrays");
}

Array PagedKvCache::attend(const Array& q, const Array& k, const Array& v, const Scoring& scoring) {
  // [1, H, L, Dh] -> [L, H, Dh], the kernel's order
  const auto by_token = [](const Array& x) {
    return mx::contiguous(
        mx::reshape(mx::transpose(x, {0, 2, 1, 3}), {x.shape(2), x.shape(1), x.shape(3)}));
  };
  const kernels::AttendOptions options{.heads = q.shape(1),
                                       .kv_heads = k.shape(1),
                                       .head_dim = q.shape(3),
                                       .scale = scoring.scale,
                                       .rope = {},
                                       .softcap = scoring.softcap,
                                       .sinks = scoring.sinks};
  const kernels::RowSlice slice{0, q.shape(2)};
  const auto out =
      kernels::attend(by_token(q), by_token(k), by_token(v), {&pages_, 1}, {&slice, 1}, options);
  return mx::transpose(mx::reshape(out, {1, q.shape(2), q.shape(1), q.shape(3)}), {0, 2, 1, 3});
}

void PagedKvCache::collect_memory(std::vector<Memory>& memory) const {
  const auto& kv = kernels::AttentionAccess::impl(*pages_);
  for (const auto& page : kv.table->pages) memory.push_back({page.get(), page->bytes});
}

bool PagedKvCache::trim(int n) {
  pages_->truncate(std::max(pages_->offset() - n, 0));
  return true;
}

PastNeeded PagedKvCache::past_needed() const {
  if (spec_.window == 0) return {.kind = PastNeeded::Kind::all};
  return {.kind = PastNeeded::Kind::window, .tokens = spec_.window - 1};
}

int PagedKvCache::block_tokens() const { return kernels::page_tokens; }

std::string PagedKvCache::format() const {
  return fmt::format("f16 page of {}, {}x{}", kernels::page_tokens, spec_.kv_heads, spec_.head_dim);
}

KvBlockPtr PagedKvCache::block(int from, int to) const {
  if (from % kernels::page_tokens != 0 || to != from + kernels::page_tokens) return nullptr;
  auto page = pages_->page(from / kernels::page_tokens);
  if (!page) return nullptr;
  return std::make_shared<PageBlock>(std::move(page), format());
}

bool PagedKvCache::start(std::span<const KvBlockPtr> blocks, int offset) {
  std::vector<std::shared_ptr<kernels::Page>> pages;
  for (const auto& block : blocks) {
    const auto* page = dynamic_cast<const PageBlock*>(block.get());
    if (!page || page->format() != format()) return false;
    pages.push_back(page->page());
  }
  return pages_->start(std::move(pages), offset);
}

KvBlockPtr PagedKvCache::parse_block(std::string_view format,
                                     std::span<const std::byte> bytes) const {
  const kernels::PageLayout layout{.kv_heads = spec_.kv_heads, .head_dim = spec_.head_dim};
  if (format != this->format() || bytes.size() != layout.bytes()) return nullptr;
  auto page = std::make_shared<kernels::Page>(layout);
  std::ranges::copy(bytes, page->memory.get());
  return std::make_shared<PageBlock>(std::move(page), this->format());
}

}  // namespace hearth::tensor
