#include "tensor/kernels/paged_kv.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace hearth::kernels {
namespace {

// A window keeps one page more than it sees, so that a few tokens can be taken back.
constexpr int kept_behind_window = page_tokens;

int pages_for(int tokens) { return (tokens + page_tokens - 1) / page_tokens; }

}  // namespace

void PagedKv::Impl::drop_pages_behind_window(PageTable& next) const {
  if (window == 0) return;
  const int seen_from = std::max(0, offset - window + 1 - kept_behind_window);
  const int behind =
      std::clamp(seen_from / page_tokens - next.first, 0, static_cast<int>(next.pages.size()));
  next.pages.erase(next.pages.begin(), next.pages.begin() + behind);
  next.first += behind;
}

Append PagedKv::Impl::append(int length) {
  Append result{.start = offset, .length = length, .table = table};
  if (length == 0) return result;
  const int end = offset + length;
  const int writes_in = offset / page_tokens;
  const bool fork = offset % page_tokens != 0 && writes_in < shared_end;
  if (pages_for(end) > table->end() || fork) {
    auto next = std::make_shared<PageTable>(*table);
    drop_pages_behind_window(*next);
    if (fork) {
      auto& page = next->pages[writes_in - next->first];
      result.copy_from = page;
      result.copy_to = page = std::make_shared<Page>(layout);
    }
    if (next->pages.empty()) next->first = writes_in;
    while (next->end() < pages_for(end)) next->pages.push_back(std::make_shared<Page>(layout));
    result.table = table = std::move(next);
  }
  shared_end = std::min(shared_end, writes_in);
  offset = end;
  return result;
}

PagedKv::PagedKv(int kv_heads, int head_dim, int window) {
  if (kv_heads < 1 || head_dim < 1 || window < 0) {
    throw std::invalid_argument(
        fmt::format("paged kv: {} heads of {} with a window of {}", kv_heads, head_dim, window));
  }
  impl_ = std::make_unique<Impl>();
  impl_->layout = {.kv_heads = kv_heads, .head_dim = head_dim};
  impl_->window = window;
}

PagedKv::~PagedKv() = default;

int PagedKv::offset() const { return impl_->offset; }

void PagedKv::truncate(int offset) {
  auto& kv = *impl_;
  const int needed = kv.window == 0 ? 0 : std::max(0, offset - kv.window + 1);
  if (offset < 0 || offset > kv.offset || needed < kv.table->first * page_tokens) {
    throw std::invalid_argument(
        fmt::format("paged kv: cannot go back to token {}: it holds {} to {} and sees {} back",
                    offset, kv.table->first * page_tokens, kv.offset, kv.window));
  }
  kv.offset = offset;
  if (pages_for(offset) >= kv.table->end()) return;
  auto next = std::make_shared<PageTable>(*kv.table);
  next->pages.resize(std::max(0, pages_for(offset) - next->first));
  kv.table = std::move(next);
}

void PagedKv::mark() {
  auto& kv = *impl_;
  kv.marked = {.offset = kv.offset, .table = kv.table, .shared_end = kv.shared_end};
}

bool PagedKv::roll_back() {
  auto& kv = *impl_;
  if (!kv.marked) return false;
  kv.offset = kv.marked->offset;
  kv.table = kv.marked->table;
  kv.shared_end = kv.marked->shared_end;
  kv.pending.reset();
  return true;
}

std::size_t PagedKv::bytes() const { return impl_->table->pages.size() * impl_->layout.bytes(); }

std::shared_ptr<PagedKv> PagedKv::clone() const {
  auto& kv = *impl_;
  kv.shared_end = pages_for(kv.offset);
  auto copy = std::make_shared<PagedKv>(kv.layout.kv_heads, kv.layout.head_dim, kv.window);
  *copy->impl_ = kv;
  copy->impl_->marked.reset();
  return copy;
}

std::shared_ptr<Page> PagedKv::page(int number) const {
  auto& kv = *impl_;
  if (number < kv.table->first || (number + 1) * page_tokens > kv.offset) return nullptr;
  kv.shared_end = std::max(kv.shared_end, number + 1);
  return kv.table->pages[number - kv.table->first];
}

bool PagedKv::start(std::vector<std::shared_ptr<Page>> pages, int offset) {
  auto& kv = *impl_;
  const int first = offset / page_tokens - static_cast<int>(pages.size());
  const int needed = kv.window == 0 ? 0 : std::max(0, offset - kv.window + 1);
  if (kv.offset != 0 || offset % page_tokens != 0 || first < 0 || needed < first * page_tokens) {
    return false;
  }
  auto table = std::make_shared<PageTable>();
  table->first = first;
  table->pages = std::move(pages);
  kv.table = std::move(table);
  kv.offset = offset;
  kv.shared_end = offset / page_tokens;
  return true;
}

}  // namespace hearth::kernels
