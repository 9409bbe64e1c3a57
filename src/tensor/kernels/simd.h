// Which instruction sets the kernels are compiled for. Include before any header of Highway.
//
// One x86 fallback below AVX2 is enough, and vectors of unknown length (SVE, RVV) cannot be held in
// arrays. g++ before 12.3 may miscompile the portable fallback, which only a processor without
// SSE4 runs; the plain scalar target that Highway would take instead cannot pair 16-bit lanes.
// A sanitized build has AVX2 and the fallback alone: every further set costs it minutes.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEARTH_UNSANITIZED_TARGETS (HWY_SSE4 | HWY_AVX3)
#else
#define HEARTH_UNSANITIZED_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS                                                             \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | \
   HEARTH_UNSANITIZED_TARGETS)
#define HWY_BROKEN_EMU128 0

namespace hearth::kernels {

/// Outputs stand side by side in blocks of this many lanes, whatever the width of a vector.
inline constexpr int block_lanes = 16;

constexpr std::size_t blocks_of(int outputs) {
  return (static_cast<std::size_t>(outputs) + block_lanes - 1) / block_lanes;
}

/// How a float is stored in packed memory.
enum class FloatKind { f32, f16, bf16 };
constexpr std::size_t size_of(FloatKind kind) { return kind == FloatKind::f32 ? 4 : 2; }

}  // namespace hearth::kernels
