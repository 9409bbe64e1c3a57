#include "tensor/cache/paged.h"

#include <algorithm>

namespace hearth::tensor {

Array PagedKvCache::attend(const Array& q, const Array& k, const Array& v, float scale) {
  // [1, H, L, Dh] -> [L, H, Dh], the kernel's order
  const auto by_token = [](const Array& x) {
    return mx::contiguous(
        mx::reshape(mx::transpose(x, {0, 2, 1, 3}), {x.shape(2), x.shape(1), x.shape(3)}));
  };
  const kernels::AttendOptions options{.heads = q.shape(1),
                                       .kv_heads = k.shape(1),
                                       .head_dim = q.shape(3),
                                       .scale = scale,
                                       .rope = {}};
  const kernels::RowSlice slice{0, q.shape(2)};
  const auto out =
      kernels::attend(by_token(q), by_token(k), by_token(v), {&pages_, 1}, {&slice, 1}, options);
  return mx::transpose(mx::reshape(out, {1, q.shape(2), q.shape(1), q.shape(3)}), {0, 2, 1, 3});
}

bool PagedKvCache::trim(int n) {
  pages_->truncate(std::max(pages_->offset() - n, 0));
  return true;
}

}  // namespace hearth::tensor
