// Inside a PagedKv: pages, the table that finds them, and how a step's tokens get their place.
//
// Keys and values are stored as f16: half the memory and traffic of f32, and more mantissa than the
// bf16 of most checkpoints. A stored number is off by at most 2^-11 of itself; what lies beyond
// ±65504 is stored as ±65504.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tensor/kernels/aligned.h"
#include "tensor/kernels/kernels.h"

namespace hearth::kernels {

inline constexpr int page_tokens = 64;

/// A page: keys [kv_heads][head_dim][64], so that a vector holds neighbouring tokens, then values
/// [kv_heads][64][padded_dim].
struct PageLayout {
  int kv_heads, head_dim;

  int padded_dim() const { return (head_dim + 15) / 16 * 16; }
  std::size_t key_numbers() const { return std::size_t{page_tokens} * head_dim; }  // of a head
  std::size_t value_numbers() const { return std::size_t{page_tokens} * padded_dim(); }
  std::size_t bytes() const { return 2 * kv_heads * (key_numbers() + value_numbers()); }
};

struct Page {
  std::size_t bytes;
  AlignedBytes memory;

  explicit Page(const PageLayout& layout)
      : bytes(layout.bytes()), memory(aligned_bytes(layout.bytes())) {}
  std::uint16_t* keys(const PageLayout& layout, int head) const {
    return reinterpret_cast<std::uint16_t*>(memory.get()) + head * layout.key_numbers();
  }
  std::uint16_t* values(const PageLayout& layout, int head) const {
    return keys(layout, layout.kv_heads) + head * layout.value_numbers();
  }
};

/// The pages of a sequence from page number `first` on. Nodes of the graph hold on to the table
/// they were built with, so a table never changes: it is replaced.
struct PageTable {
  int first = 0;
  std::vector<std::shared_ptr<Page>> pages;

  const Page& of_page(int number) const { return *pages[number - first]; }
  int end() const { return first + static_cast<int>(pages.size()); }
};

/// Where a node writes the tokens of one row.
struct Append {
  int start = 0;  // position of the first
  int length = 0;
  std::shared_ptr<const PageTable> table;
  // A page that a clone also has is copied before it is written.
  std::shared_ptr<Page> copy_from, copy_to;
};

/// What mark() remembers. Pages are only ever written behind the offset, and a shared one is copied
/// before, so the pages of the table still hold what they held.
struct PagedMark {
  int offset;
  std::shared_ptr<const PageTable> table;
  int shared_end;
};

struct PagedKv::Impl {
  PageLayout layout;
  int window;
  int offset = 0;
  std::shared_ptr<const PageTable> table = std::make_shared<PageTable>();
  int shared_end = 0;  // pages before this number may also belong to a clone: never written
  std::optional<Array> pending;  // evaluated once everything appended so far has been written
  std::optional<PagedMark> marked;

  /// Makes room for `length` more tokens and moves the offset behind them.
  Append append(int length);

 private:
  void drop_pages_behind_window(PageTable& table) const;
};

struct AttentionAccess {
  static PagedKv::Impl& impl(PagedKv& kv) { return *kv.impl_; }
};

}  // namespace hearth::kernels
