#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <unistd.h>

#include "engine/engine.h"
#include "tensor/kernels/kernels.h"

namespace hearth::engine {

namespace mx = mlx::core;

Backend backend() {
  const auto device = mx::default_device();
  const auto& about = mx::device_info(device);
  Backend found{.mlx_version = mx::version(),
                .pack = HEARTH_MLX_PACK,
                .device = device == mx::Device::cpu ? "cpu" : "gpu",
                .simd = kernels::simd_name()};
  const auto text = [&](const char* key) -> std::string {
    const auto it = about.find(key);
    if (it == about.end()) return {};
    const auto* value = std::get_if<std::string>(&it->second);
    return value ? *value : std::string();
  };
  if (const auto name = text("device_name"); !name.empty()) {
    found.device += fmt::format(" ({})", name);
  }
  if (const auto it = about.find("memory_size"); it != about.end()) {
    if (const auto* bytes = std::get_if<std::size_t>(&it->second)) found.memory_bytes = *bytes;
  }
  if (found.memory_bytes == 0) {  // MLX does not say it of a CPU
    found.memory_bytes = std::size_t(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  }
  return found;
}

Memory memory() {
  return {.active = mx::get_active_memory(),
          .peak = mx::get_peak_memory(),
          .cache = mx::get_cache_memory()};
}

void release_memory() {
  mx::clear_cache();
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace hearth::engine
