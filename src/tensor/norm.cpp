#include "tensor/norm.h"

#include "tensor/kernels/kernels.h"

namespace hearth::tensor {

RmsNorm::RmsNorm(const Weights& w, int dims, float eps, Stored stored)
    : weight_(w.take("weight", {dims})), eps_(eps), stored_(stored),
      kernels_(w.execution() == Execution::kernels) {
  if (!kernels_) return;
  // Rounded as the plain graph rounds it, then widened once for the kernels.
  weight_ = mx::astype(weight(), mx::float32);
  stored_ = Stored::weight;
  mx::eval(weight_);
}

Array unit_norm(const Array& x, float eps, Execution execution) {
  if (execution == Execution::kernels) return kernels::rms_norm(x, std::nullopt, eps);
  return mx::fast::rms_norm(x, std::nullopt, eps);
}

LayerNorm::LayerNorm(const Weights& w, int dims, float eps, bool bias)
    : weight_(w.take("weight", {dims})), eps_(eps) {
  if (bias) bias_ = w.take("bias", {dims});
  if (w.execution() != Execution::kernels) return;
  weight_ = mx::astype(weight_, mx::float32);
  if (bias_) bias_ = mx::astype(*bias_, mx::float32);
}

Array LayerNorm::operator()(const Array& x) const {
  return mx::fast::layer_norm(x, weight_, bias_, eps_);
}

Array RmsNorm::weight() const {
  // The sum stays in the checkpoint's dtype, as in Python.
  return stored_ == Stored::weight ? weight_ : Array(1.0f, weight_.dtype()) + weight_;
}

Array RmsNorm::operator()(const Array& x) const {
  return kernels_ ? kernels::rms_norm(x, weight_, eps_) : mx::fast::rms_norm(x, weight(), eps_);
}

std::pair<Array, Array> RmsNorm::after_sum(const Array& x, const Array& r) const {
  if (kernels_) return kernels::add_rms_norm(x, r, weight_, eps_);
  auto sum = x + r;
  auto normalised = (*this)(sum);
  return {std::move(sum), std::move(normalised)};
}

}  // namespace hearth::tensor
