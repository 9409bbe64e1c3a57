// What layers without attention are made of: a short causal convolution and the gated delta rule.
#pragma once

#include <optional>
#include <utility>

#include "tensor/cache/state.h"
#include "tensor/weights.h"

namespace hearth::tensor {

/// Every channel by itself over the last K tokens; remembers K - 1 of them. mlx.nn.Conv1d with as
/// many groups as channels.
class CausalConv {
 public:
  /// @param w  takes `weight` [C, K, 1] and, if asked, `bias` [C]
  CausalConv(const Weights& w, int channels, int kernel, bool bias);
  /// x [1, L, C], the next tokens of a row -> [1, L, C]; array `which` of the state is the tail
  Array operator()(const Array& x, StateCache& state, int which) const;
  int kernel() const { return kernel_; }

 private:
  Array convolve(const Array& padded, int length) const;

  int kernel_;
  Array weight_;
  std::optional<Array> bias_;
  bool kernels_;
};

/// S ← g·S + k ⊗ β(v - g·S·k), y = S·q for each token in turn. Source: arXiv 2412.06464; mlx-lm
/// models/gated_delta.py, gated_delta_ops.
/// @param q, k     [1, L, Hk, Dk]; @param v [1, L, Hv, Dv], Hk divides Hv
/// @param g, beta  [1, L, Hv]
/// @param state    [1, Hv, Dv, Dk] float32, of the tokens before; none: zeros
/// @return         {y [1, L, Hv, Dv] in q's dtype, state after}
std::pair<Array, Array> gated_delta(Array q, Array k, const Array& v, const Array& g,
                                    const Array& beta, const std::optional<Array>& state);

}  // namespace hearth::tensor
