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
