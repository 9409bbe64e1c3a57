#include "tensor/cache/contiguous.h"

#include <algorithm>

#include "tensor/cache/slices.h"

namespace hearth::tensor {

void ContiguousKvCache::grow(const Array& k, const Array& v) {
  const int added = (step + k.shape(2) - 1) / step * step;
  const auto new_keys = zero_tokens(k, added);
  const auto new_values = zero_tokens(v, added);
  if (!keys_) {
    keys_ = new_keys;
    values_ = new_values;
    return;
  }
  if (offset_ % step != 0) {
    keys_ = tokens_between(*keys_, 0, offset_);
    values_ = tokens_between(*values_, 0, offset_);
  }
  keys_ = mx::concatenate({*keys_, new_keys}, 2);
  values_ = mx::concatenate({*values_, new_values}, 2);
}

Past ContiguousKvCache::append(const Array& k, const Array& v) {
  const int length = k.shape(2);
  if (!keys_ || offset_ + length > keys_->shape(2)) grow(k, v);
  keys_ = with_tokens(*keys_, k, offset_);
  values_ = with_tokens(*values_, v, offset_);
  offset_ += length;
  return latest(length);
}

Past ContiguousKvCache::latest(int length) const {
  const bool causal = length > 1;
  if (offset_ == keys_->shape(2)) return {*keys_, *values_, causal};
  return {tokens_between(*keys_, 0, offset_), tokens_between(*values_, 0, offset_), causal};
}

void ContiguousKvCache::collect(std::vector<Array>& arrays) const {
  if (!keys_) return;
  arrays.push_back(*keys_);
  arrays.push_back(*values_);
}

bool ContiguousKvCache::trim(int n) {
  offset_ -= std::min(n, offset_);
  return true;
}

std::size_t ContiguousKvCache::bytes() const {
  return keys_ ? keys_->nbytes() + values_->nbytes() : 0;
}

KvBlockPtr ContiguousKvCache::block(int from, int to) const {
  if (!keys_ || from < 0 || to <= from || to > offset_) return nullptr;
  return ArrayBlock::make(tokens_between(*keys_, from, to), tokens_between(*values_, from, to));
}

bool ContiguousKvCache::start(std::span<const KvBlockPtr> blocks, int offset) {
  auto joined = join_blocks(blocks);
  if (!joined || joined->first.shape(2) != offset) return false;
  auto& [keys, values] = *joined;
  // The capacity that growing would have come to.
  if (const int room = (step - offset % step) % step; room > 0) {
    keys = mx::concatenate({keys, zero_tokens(keys, room)}, 2);
    values = mx::concatenate({values, zero_tokens(values, room)}, 2);
  }
  keys_ = keys;
  values_ = values;
  offset_ = offset;
  return true;
}

}  // namespace hearth::tensor
