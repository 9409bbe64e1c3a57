#include "tensor/recurrent.h"

namespace hearth::tensor {
namespace {

/// x[:, from:to]
Array between(const Array& x, int from, int to) {
  Shape start(x.ndim(), 0), stop = x.shape();
  start[1] = from;
  stop[1] = to;
  return mx::slice(x, start, stop);
}

Array at_token(const Array& x, int token) { return mx::squeeze(between(x, token, token + 1), 1); }

/// x [1, H, D] as [1, H, 1, D]
Array row(const Array& x) { return mx::expand_dims(x, -2); }
/// x [1, H, D] as [1, H, D, 1]
Array column(const Array& x) { return mx::expand_dims(x, -1); }

}  // namespace

CausalConv::CausalConv(const Weights& w, int channels, int kernel, bool bias)
    : kernel_(kernel), weight_(w.take("weight", {channels, kernel, 1})),
      kernels_(w.execution() == Execution::kernels) {
  if (bias) bias_ = w.take("bias", {channels});
  if (!kernels_) return;
  weight_ = mx::astype(weight_, mx::float32);
  if (bias_) bias_ = mx::astype(*bias_, mx::float32);
}

Array CausalConv::convolve(const Array& padded, int length) const {
  if (!kernels_) return mx::conv1d(padded, weight_, 1, 0, 1, weight_.shape(0));
  // Term by term, so that a token's sum does not depend on its company.
  const auto taps = mx::squeeze(weight_, 2);  // [C, K]
  std::optional<Array> sum;
  for (int i = 0; i < kernel_; ++i) {
    const auto tap = mx::squeeze(mx::slice(taps, {0, i}, {taps.shape(0), i + 1}), 1);
    const auto term = between(padded, i, i + length) * tap;
    sum = sum ? *sum + term : term;
  }
  return *sum;
}

Array CausalConv::operator()(const Array& x, StateCache& state, int which) const {
  const auto& tail = state.get(which);
  const auto padded =
      mx::concatenate({tail ? *tail : mx::zeros({1, kernel_ - 1, x.shape(2)}, x.dtype()), x}, 1);
  state.set(which, mx::contiguous(between(padded, padded.shape(1) - kernel_ + 1, padded.shape(1))));
  const auto y = convolve(padded, x.shape(1));
  return bias_ ? y + *bias_ : y;
}

std::pair<Array, Array> gated_delta(Array q, Array k, const Array& v, const Array& g,
                                    const Array& beta, const std::optional<Array>& state) {
  const int heads = v.shape(2), repeats = heads / k.shape(2);
  auto s = state ? *state : mx::zeros({1, heads, v.shape(3), q.shape(3)}, mx::float32);
  if (repeats > 1) {
    q = mx::repeat(q, repeats, -2);
    k = mx::repeat(k, repeats, -2);
  }
  std::vector<Array> ys;
  for (int t = 0; t < q.shape(1); ++t) {
    const auto key = row(at_token(k, t));
    s = s * column(column(at_token(g, t)));
    const auto known = mx::sum(s * key, -1);
    const auto delta = (at_token(v, t) - known) * column(at_token(beta, t));
    s = s + key * column(delta);
    ys.push_back(mx::astype(mx::sum(s * row(at_token(q, t)), -1), q.dtype()));
  }
  return {mx::stack(ys, 1), s};
}

}  // namespace hearth::tensor
