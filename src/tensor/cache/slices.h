// Slicing along the token axis of [1, H, L, Dh] arrays.
#pragma once

#include "tensor/array.h"

namespace hearth::tensor {

/// x[..., from:to, :]
inline Array tokens_between(const Array& x, int from, int to) {
  const Shape start{0, 0, from, 0};
  return mx::slice(x, start, {x.shape(0), x.shape(1), to, x.shape(3)});
}

/// x with x[..., from:from+L, :] = update
inline Array with_tokens(const Array& x, const Array& update, int from) {
  const Shape start{0, 0, from, 0};
  const Shape stop{x.shape(0), x.shape(1), from + update.shape(2), x.shape(3)};
  return mx::slice_update(x, update, start, stop);
}

/// Zeros like x but `tokens` long
inline Array zero_tokens(const Array& x, int tokens) {
  return mx::zeros({x.shape(0), x.shape(1), tokens, x.shape(3)}, x.dtype());
}

}  // namespace hearth::tensor
