#include "tensor/cache/kv_cache.h"

#include <stdexcept>

#include "tensor/cache/both_ways.h"
#include "tensor/cache/contiguous.h"
#include "tensor/cache/device.h"
#include "tensor/cache/paged.h"
#include "tensor/cache/rotating.h"
#include "tensor/cache/state.h"
#include "tensor/kernels/cuda/cuda.h"

namespace hearth::tensor {
namespace {

/// mlx-lm's own attention of Gemma 2, which caps the scores.
Array attend_capped(const Array& q, const Past& past, const Scoring& scoring) {
  const auto like_q = [&](float value) { return Array(value, q.dtype()); };
  const int heads = q.shape(1), kv_heads = past.keys.shape(1), length = q.shape(2);
  auto queries = q * like_q(scoring.scale);
  auto keys = past.keys, values = past.values;
  const bool grouped = heads > kv_heads;
  if (grouped) {
    queries = mx::reshape(queries, {q.shape(0), kv_heads, heads / kv_heads, length, q.shape(3)});
    keys = mx::expand_dims(keys, 2);
    values = mx::expand_dims(values, 2);
  }
  auto scores = mx::matmul(queries, mx::swapaxes(keys, -1, -2));
  scores = mx::tanh(scores / like_q(scoring.softcap)) * like_q(scoring.softcap);
  auto mask = past.mask;
  if (past.causal) {
    const int size = past.keys.shape(2);
    mask =
        mx::expand_dims(mx::arange(size - length, size), 1) >= mx::expand_dims(mx::arange(size), 0);
  }
  if (mask) scores = mx::where(*mask, scores, like_q(float(mx::finfo(q.dtype()).min)));
  const auto out = mx::matmul(mx::softmax(scores, -1, /*precise=*/true), values);
  return grouped ? mx::reshape(out, {q.shape(0), heads, length, past.values.shape(3)}) : out;
}

}  // namespace

Past KvCache::latest(int) const {
  throw std::logic_error("keys and values of this cache cannot be read as arrays");
}

Array attend_past(const Array& q, const Past& past, const Scoring& scoring) {
  if (scoring.softcap > 0) return attend_capped(q, past, scoring);
  return mx::fast::scaled_dot_product_attention(q, past.keys, past.values, scoring.scale,
                                                past.causal ? "causal" : "", past.mask,
                                                scoring.sinks);
}

std::unique_ptr<KvCache> make_cache(const CacheSpec& spec, bool kernels) {
  if (spec.states > 0) return std::make_unique<StateCache>(spec.states);
  if (spec.both_ways) return std::make_unique<BothWaysCache>(spec.window);
  if (kernels && hearth::kernels::cuda::active()) return std::make_unique<DeviceKvCache>(spec);
  if (kernels) return std::make_unique<PagedKvCache>(spec);
  if (spec.window > 0) return std::make_unique<RotatingKvCache>(spec.window);
  return std::make_unique<ContiguousKvCache>();
}

}  // namespace hearth::tensor
