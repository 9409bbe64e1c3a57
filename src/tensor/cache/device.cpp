#include "tensor/cache/device.h"

namespace hearth::tensor {

Array DeviceKvCache::attend(const Array& q, const Array& k, const Array& v,
                            const Scoring& scoring) {
  const auto half = [](const Array& x) { return mx::astype(x, mx::float16); };
  return mx::astype(ContiguousKvCache::attend(half(q), half(k), half(v), scoring), q.dtype());
}

bool DeviceKvCache::roll_back() {
  if (!marked_) return false;
  // What was appended since lies behind the offset, where it is written anew before it is read.
  keys_ = marked_->keys;
  values_ = marked_->values;
  offset_ = marked_->offset;
  return true;
}

bool DeviceKvCache::start(std::span<const KvBlockPtr> blocks, int offset) {
  if (!ContiguousKvCache::start(blocks, offset)) return false;
  keys_ = mx::contiguous(mx::astype(*keys_, mx::float16));
  values_ = mx::contiguous(mx::astype(*values_, mx::float16));
  mx::eval(*keys_, *values_);
  return true;
}

kernels::cuda::DeviceKv DeviceKvCache::lend(int length) const {
  std::optional<kernels::cuda::DeviceKv> now;
  if (keys_) now = kernels::cuda::DeviceKv{*keys_, *values_, offset_, {}};
  return kernels::cuda::with_room(now, length, spec_.kv_heads, spec_.head_dim);
}

void DeviceKvCache::take_back(const kernels::cuda::DeviceKv& kv) {
  keys_ = kv.keys;
  values_ = kv.values;
  offset_ = kv.offset;
}

}  // namespace hearth::tensor
