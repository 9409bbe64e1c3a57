#include "tensor/kernels/rope_angles.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace hearth::kernels {
namespace {

struct Known {
  int dims;
  bool traditional;
  float scale, mscale;
  std::vector<float> inv_freq;
  std::vector<Run> runs;
  std::shared_ptr<const RopeAngles> angles;

  bool is(const RopeTable& rope, const std::vector<Run>& of) const {
    return dims == rope.dims && traditional == rope.traditional && scale == rope.scale &&
           mscale == rope.mscale && inv_freq == rope.inv_freq && runs == of;
  }
};

std::shared_ptr<const RopeAngles> compute(const RopeTable& rope, const std::vector<Run>& runs) {
  auto angles = std::make_shared<RopeAngles>();
  angles->half = rope.dims / 2;
  angles->traditional = rope.traditional;
  for (const auto& [first, count] : runs) {
    for (int position = first; position < first + count; ++position) {
      for (int i = 0; i < angles->half; ++i) {
        const float angle = static_cast<float>(position) * rope.scale * rope.inv_freq[i];
        angles->cosines.push_back(std::cos(angle) * rope.mscale);
        angles->sines.push_back(std::sin(angle) * rope.mscale);
      }
    }
  }
  return angles;
}

void turn(float& a, float& b, float cosine, float sine) {
  const float x = a, y = b;
  a = x * cosine - y * sine;
  b = x * sine + y * cosine;
}

}  // namespace

void RopeAngles::rotate(float* x, std::size_t token) const {
  const float* cosine = cosines.data() + token * half;
  const float* sine = sines.data() + token * half;
  if (traditional) {
    for (int i = 0; i < half; ++i) turn(x[2 * i], x[2 * i + 1], cosine[i], sine[i]);
  } else {
    for (int i = 0; i < half; ++i) turn(x[i], x[half + i], cosine[i], sine[i]);
  }
}

std::shared_ptr<const RopeAngles> rope_angles(const RopeTable& rope, const std::vector<Run>& runs) {
  constexpr std::size_t kept = 4;  // kinds of layer that rotate differently within one model
  thread_local std::deque<Known> known;
  const auto found = std::ranges::find_if(known, [&](const Known& k) { return k.is(rope, runs); });
  if (found != known.end()) return found->angles;
  if (known.size() == kept) known.pop_back();
  known.push_front({rope.dims, rope.traditional, rope.scale, rope.mscale, rope.inv_freq, runs,
                    compute(rope, runs)});
  return known.front().angles;
}

}  // namespace hearth::kernels
