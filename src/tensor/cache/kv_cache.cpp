#include "tensor/cache/kv_cache.h"

#include "tensor/cache/contiguous.h"
#include "tensor/cache/device.h"
#include "tensor/cache/paged.h"
#include "tensor/cache/rotating.h"
#include "tensor/kernels/cuda/cuda.h"

namespace hearth::tensor {

std::unique_ptr<KvCache> make_cache(const CacheSpec& spec, bool kernels) {
  if (kernels && hearth::kernels::cuda::active()) return std::make_unique<DeviceKvCache>(spec);
  if (kernels) return std::make_unique<PagedKvCache>(spec);
  if (spec.window > 0) return std::make_unique<RotatingKvCache>(spec.window);
  return std::make_unique<ContiguousKvCache>();
}

}  // namespace hearth::tensor
