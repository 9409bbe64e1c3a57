#include "tensor/cache/layer_cache.h"

#include <algorithm>

#include "tensor/cache/device.h"
#include "tensor/cache/paged.h"
#include "tensor/cache/slices.h"

namespace hearth::tensor {

SequenceCache make_sequence_cache(std::span<const CacheSpec> specs, bool kernels) {
  SequenceCache caches;
  for (const auto& spec : specs) caches.push_back(make_cache(spec, kernels));
  return caches;
}

Array LayerCache::attend(const Array& q, const Array& k, const Array& v, const Rope& rope,
                         const Scoring& scoring) {
  const auto one_row = [&](KvCache& cache, const Array& q, const Array& k, const Array& v) {
    const int at = cache.offset();
    const auto turned_q = rope.queries(q, at), turned_k = rope(k, at);
    if (!scoring.turned) return cache.attend(turned_q, turned_k, v, scoring);
    const auto [last_q, last_k] = scoring.turned(turned_q, turned_k);
    return cache.attend(last_q, last_k, v, scoring);
  };
  if (rows_.size() == 1) return one_row(*caches_.front(), q, k, v);
  std::vector<Array> outputs;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const int from = rows_[i].start, to = from + rows_[i].length;
    outputs.push_back(one_row(*caches_[i], tokens_between(q, from, to), tokens_between(k, from, to),
                              tokens_between(v, from, to)));
  }
  return mx::concatenate(outputs, 2);
}

Array LayerCache::attend_again(const Array& q, const Rope& rope, const Scoring& scoring) {
  std::vector<Array> outputs;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const int from = rows_[i].start, length = rows_[i].length;
    const auto own = rows_.size() == 1 ? q : tokens_between(q, from, from + length);
    const auto turned = rope.queries(own, caches_[i]->offset() - length);
    outputs.push_back(attend_past(turned, caches_[i]->latest(length), scoring));
  }
  return outputs.size() == 1 ? outputs.front() : mx::concatenate(outputs, 2);
}

Array LayerCache::by_row(const std::vector<Array>& inputs, const RowWork& work) const {
  if (rows_.size() == 1) return work(*caches_.front(), inputs);
  std::vector<Array> outputs;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::vector<Array> own;
    for (const auto& x : inputs) {
      Shape start(x.ndim(), 0), stop = x.shape();
      start[1] = rows_[i].start;
      stop[1] = rows_[i].start + rows_[i].length;
      own.push_back(mx::slice(x, start, stop));
    }
    outputs.push_back(work(*caches_[i], own));
  }
  return mx::concatenate(outputs, 1);
}

std::vector<std::shared_ptr<kernels::PagedKv>> LayerCache::pages() const {
  std::vector<std::shared_ptr<kernels::PagedKv>> pages;
  for (auto* cache : caches_) {
    if (auto* paged = cache->paged()) pages.push_back(paged->pages());
  }
  return pages;
}

Array LayerCache::attend(const Array& qkv, const kernels::AttendOptions& options) const {
  if (caches_.front()->on_device()) return attend_on_device(qkv, options);
  return kernels::attend(qkv, pages(), rows_, options);
}

Array LayerCache::attend_on_device(const Array& qkv, const kernels::AttendOptions& options) const {
  std::vector<kernels::cuda::DeviceKv> lent;
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    lent.push_back(caches_[i]->on_device()->lend(rows_[i].length));
  }
  std::vector<kernels::cuda::DeviceKv*> rows;
  for (auto& kv : lent) rows.push_back(&kv);
  const int window = caches_.front()->on_device()->window();
  auto out = kernels::cuda::attend(qkv, rows, rows_, options, window);
  for (std::size_t i = 0; i < caches_.size(); ++i) caches_[i]->on_device()->take_back(lent[i]);
  return out;
}

LayerCache StepCache::operator[](std::size_t layer) const {
  std::vector<KvCache*> caches;
  for (auto* sequence : sequences_) caches.push_back((*sequence)[layer].get());
  return LayerCache(rows_, std::move(caches));
}

std::vector<Array> StepCache::state() const {
  std::vector<Array> arrays;
  for (auto* sequence : sequences_) {
    for (const auto& cache : *sequence) cache->collect(arrays);
  }
  return arrays;
}

std::size_t distinct_bytes(std::vector<Memory>& memory) {
  std::ranges::sort(memory);
  const auto rest = std::ranges::unique(memory);
  memory.erase(rest.begin(), rest.end());
  std::size_t sum = 0;
  for (const auto& piece : memory) sum += piece.bytes;
  return sum;
}

}  // namespace hearth::tensor
