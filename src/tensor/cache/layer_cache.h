// One layer's view of a step: which rows it carries and where each keeps its keys and values.
// Models see this and nothing else of batching.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tensor/cache/kv_cache.h"
#include "tensor/kernels/kernels.h"
#include "tensor/rope.h"

namespace hearth::tensor {

using kernels::RowSlice;

/// The caches of one sequence, one a layer.
using SequenceCache = std::vector<std::unique_ptr<KvCache>>;

/// A new sequence's caches.
SequenceCache make_sequence_cache(std::span<const CacheSpec> specs, bool kernels);

class LayerCache {
 public:
  LayerCache(std::span<const RowSlice> rows, std::vector<KvCache*> caches)
      : rows_(rows), caches_(std::move(caches)) {}

  /// Rotates, writes and attends every row at its own position.
  /// @param q  [1, H, T, Dh]; k, v [1, Hk, T, Dh]: the flat batch of all rows' tokens
  /// @return   [1, H, T, Dh]
  Array attend(const Array& q, const Array& k, const Array& v, const Rope& rope,
               const Scoring& scoring);

  /// Attends to what this layer has just written, for a later layer that has no keys and values.
  Array attend_again(const Array& q, const Rope& rope, const Scoring& scoring);

  /// Hands each row its cache and its tokens of every array, [1, T, ...] each, and puts the results
  /// one after another: what a layer does that no cache kind knows.
  using RowWork = std::function<Array(KvCache& cache, const std::vector<Array>& inputs)>;
  Array by_row(const std::vector<Array>& inputs, const RowWork& work) const;

  /// The same by the attention kernel, for caches that are its own.
  /// @param qkv  [1, T, (H + 2·Hk)·Dh] f32, side by side, not rotated
  /// @return     [T, H·Dh] f32
  Array attend(const Array& qkv, const kernels::AttendOptions& options) const;

  /// The rows' pages for the attention kernel of the CPU; empty for other kinds.
  std::vector<std::shared_ptr<kernels::PagedKv>> pages() const;
  bool paged() const { return caches_.front()->paged() != nullptr; }
  /// Whether an attention kernel has the caches, a CPU's or a device's.
  bool on_kernels() const { return paged() || caches_.front()->on_device() != nullptr; }
  std::span<const RowSlice> rows() const { return rows_; }

 private:
  Array attend_on_device(const Array& qkv, const kernels::AttendOptions& options) const;

  std::span<const RowSlice> rows_;
  std::vector<KvCache*> caches_;  // one a row
};

/// A step's view of all layers: step[i] is layer i's LayerCache.
class StepCache {
 public:
  /// @param rows       slices of the flat batch, covering it in order
  /// @param sequences  the caches of each row's sequence
  StepCache(std::vector<RowSlice> rows, std::vector<SequenceCache*> sequences)
      : rows_(std::move(rows)), sequences_(std::move(sequences)) {}

  LayerCache operator[](std::size_t layer) const;
  std::span<const RowSlice> rows() const { return rows_; }
  /// Arrays to evaluate so that every row's state stands.
  std::vector<Array> state() const;

 private:
  std::vector<RowSlice> rows_;
  std::vector<SequenceCache*> sequences_;
};

}  // namespace hearth::tensor
