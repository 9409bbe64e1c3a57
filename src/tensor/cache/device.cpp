#include "tensor/cache/device.h"

namespace hearth::tensor {

Array DeviceKvCache::attend(const Array& q, const Array& k, const Array& v, float scale) {
  const auto half = [](const Array& x) { return mx::astype(x, mx::float16); };
  return mx::astype(ContiguousKvCache::attend(half(q), half(k), half(v), scale), q.dtype());
}

bool DeviceKvCache::roll_back() {
  if (!marked_) return false;
  // What was appended since lies behind the offset, where it is written anew before it is read.
  keys_ = marked_->keys;
  values_ = marked_->values;
  offset_ = marked_->offset;
  return true;
}

kernels::cuda::DeviceKv DeviceKvCache::lend(int length) {
  if (!keys_ || offset_ + length > keys_->shape(2)) {
    // A quarter more than there is: what is copied stays a small share of what is written.
    const int more = std::max(length, keys_ ? keys_->shape(2) / 4 : 0);
    const auto room = mx::zeros({1, spec_.kv_heads, more, spec_.head_dim}, mx::float16);
    grow(room, room);
    keys_ = mx::contiguous(*keys_);
    values_ = mx::contiguous(*values_);
  }
  return {*keys_, *values_, offset_};
}

void DeviceKvCache::take_back(const kernels::cuda::DeviceKv& kv) {
  keys_ = kv.keys;
  values_ = kv.values;
  offset_ = kv.offset;
}

}  // namespace hearth::tensor
