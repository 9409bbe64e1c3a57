// Keys and values on an NVIDIA device: the contiguous cache in float16, which the attention kernel
// appends to in place.
#pragma once

#include "tensor/cache/contiguous.h"
#include "tensor/kernels/cuda/cuda.h"

namespace hearth::tensor {

class DeviceKvCache final : public ContiguousKvCache {
 public:
  explicit DeviceKvCache(const CacheSpec& spec) : spec_(spec) {}

  Array attend(const Array& q, const Array& k, const Array& v, const Scoring& scoring) override;
  /// The attention node writes into the arrays when what comes of it is evaluated.
  void collect(std::vector<Array>&) const override {}
  void mark() override { marked_ = State{keys_, values_, offset_}; }
  bool roll_back() override;
  bool start(std::span<const KvBlockPtr> blocks, int offset) override;
  DeviceKvCache* on_device() override { return this; }

  /// The arrays with room for `length` more tokens; after attention they go to take_back().
  kernels::cuda::DeviceKv lend(int length) const;
  void take_back(const kernels::cuda::DeviceKv& kv);
  int window() const { return spec_.window; }

 private:
  struct State {
    std::optional<Array> keys, values;
    int offset;
  };

  const CacheSpec spec_;
  std::optional<State> marked_;
};

}  // namespace hearth::tensor
