#include "tensor/cache/rotating.h"

#include <algorithm>

#include "tensor/cache/slices.h"

namespace hearth::tensor {

Array sliding_mask(int length, int offset, int window) {
  const auto columns = mx::expand_dims(mx::arange(offset + length), 0);
  const auto rows = mx::expand_dims(mx::arange(offset, offset + length), 1);
  return (rows >= columns) && (rows < columns + Array(window, mx::int32));
}

Array RotatingKvCache::in_order(const Array& ring) const {
  const int size = ring.shape(2);
  if (index_ == size) return ring;
  if (index_ < offset_) {
    return mx::concatenate({tokens_between(ring, index_, size), tokens_between(ring, 0, index_)},
                           2);
  }
  return tokens_between(ring, 0, index_);
}

void RotatingKvCache::concatenate(const Array& k, const Array& v) {
  if (!keys_) {
    keys_ = k;
    values_ = v;
  } else {
    const auto keys = in_order(*keys_);
    const auto values = in_order(*values_);
    // Up to window + length − 1 tokens stay, so that every new one sees a full window.
    const int dropped = std::max(keys.shape(2) - window_ + 1, 0);
    keys_ = mx::concatenate({tokens_between(keys, dropped, keys.shape(2)), k}, 2);
    values_ = mx::concatenate({tokens_between(values, dropped, values.shape(2)), v}, 2);
  }
  offset_ += k.shape(2);
  index_ = keys_->shape(2);
}

void RotatingKvCache::overwrite(const Array& k, const Array& v) {
  if (!keys_ || (offset_ >= keys_->shape(2) && keys_->shape(2) < window_)) {
    const int added = std::min(step, window_ - offset_);
    keys_ = keys_ ? mx::concatenate({*keys_, zero_tokens(k, added)}, 2) : zero_tokens(k, added);
    values_ =
        values_ ? mx::concatenate({*values_, zero_tokens(v, added)}, 2) : zero_tokens(v, added);
    index_ = offset_;
  }
  if (const int surplus = keys_->shape(2) - window_; surplus > 0) {
    keys_ = tokens_between(*keys_, surplus, keys_->shape(2));
    values_ = tokens_between(*values_, surplus, values_->shape(2));
    index_ = window_;
  }
  if (index_ == window_) index_ = 0;
  keys_ = with_tokens(*keys_, k, index_);
  values_ = with_tokens(*values_, v, index_);
  ++offset_;
  ++index_;
}

Past RotatingKvCache::append(const Array& k, const Array& v) {
  const int length = k.shape(2);
  if (length == 1) {
    overwrite(k, v);
  } else {
    concatenate(k, v);
  }
  return latest(length);
}

Past RotatingKvCache::latest(int length) const {
  if (length == 1) {
    if (offset_ >= keys_->shape(2)) return {*keys_, *values_};
    return {tokens_between(*keys_, 0, offset_), tokens_between(*values_, 0, offset_)};
  }
  const int kept = std::min(window_ - 1, offset_ - length);
  if (kept + length <= window_) return {*keys_, *values_, /*causal=*/true};
  return {*keys_, *values_, false, sliding_mask(length, kept, window_)};
}

void RotatingKvCache::collect(std::vector<Array>& arrays) const {
  if (!keys_) return;
  arrays.push_back(*keys_);
  arrays.push_back(*values_);
}

bool RotatingKvCache::trim(int n) {
  if (offset_ >= window_) return false;
  n = std::min(n, offset_);
  offset_ -= n;
  index_ -= n;
  return true;
}

KvBlockPtr RotatingKvCache::block(int, int to) const {
  if (!keys_ || to != offset_) return nullptr;
  const auto keys = in_order(*keys_), values = in_order(*values_);
  const int size = keys.shape(2);
  const int from = std::max(0, size - window_);  // what a next step could still see
  return ArrayBlock::make(tokens_between(keys, from, size), tokens_between(values, from, size));
}

bool RotatingKvCache::start(std::span<const KvBlockPtr> blocks, int offset) {
  if (blocks.size() != 1) return false;
  auto joined = join_blocks(blocks);
  if (!joined || joined->first.shape(2) != std::min(offset, window_)) return false;
  keys_ = joined->first;
  values_ = joined->second;
  offset_ = offset;
  index_ = keys_->shape(2);
  return true;
}

std::size_t RotatingKvCache::bytes() const {
  return keys_ ? keys_->nbytes() + values_->nbytes() : 0;
}

}  // namespace hearth::tensor
