// Cosines and sines of the positions in one step, computed once for all layers that share them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tensor/kernels/kernels.h"

namespace hearth::kernels {

/// A run of positions: the first and how many.
using Run = std::pair<int, int>;

struct RopeAngles {
  int half = 0;  // pairs of dimensions that turn
  bool traditional = false;
  std::vector<float> cosines, sines;  // [tokens, half], times mscale

  /// Turns one head of token `token` in place.
  void rotate(float* x, std::size_t token) const;
};

/// Angles for the positions of `runs`, one after the other. The last few are kept per thread, so
/// that the layers of a step compute them once.
std::shared_ptr<const RopeAngles> rope_angles(const RopeTable& rope, const std::vector<Run>& runs);

}  // namespace hearth::kernels
