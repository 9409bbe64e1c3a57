#include "tensor/activation.h"

#include <cmath>
#include <numbers>

#include "mlx/compile.h"
#include "mlx/device.h"

namespace hearth::tensor {
namespace {

std::vector<Array> swiglu(const std::vector<Array>& in) {
  const auto& gate = in[0];
  return {gate * mx::sigmoid(gate) * in[1]};
}

std::vector<Array> geglu(const std::vector<Array>& in) {
  const auto& x = in[0];
  const auto constant = [&](double value) { return Array(static_cast<float>(value), x.dtype()); };
  const auto inner = constant(std::sqrt(2 / std::numbers::pi)) *
                     (x + constant(0.044715) * mx::power(x, constant(3)));
  return {constant(0.5) * x * (constant(1) + mx::tanh(inner)) * in[1]};
}

std::vector<Array> exact_gelu(const std::vector<Array>& in) {
  const auto& x = in[0];
  const auto constant = [&](double value) { return Array(static_cast<float>(value), x.dtype()); };
  return {x * (constant(1) + mx::erf(x / constant(std::numbers::sqrt2))) / constant(2)};
}

/// mlx-lm compiles these closures. On the CPU that would run a C++ compiler at run time and changes
/// no bit (docs/decisions/0002-compile-on-cpu.md), so there the ops run as they are.
std::vector<Array> run(std::vector<Array> (*closure)(const std::vector<Array>&),
                       const std::vector<Array>& in) {
  if (mx::default_device() == mx::Device::cpu) return closure(in);
  return mx::compile(closure, /*shapeless=*/true)(in);
}

}  // namespace

Array gated(const Array& gate, const Array& up, Activation activation) {
  if (activation == Activation::gelu) return gelu(gate) * up;
  return run(activation == Activation::silu ? swiglu : geglu, {gate, up}).front();
}

Array gelu(const Array& x) { return run(exact_gelu, {x}).front(); }

Array softcap(const Array& x, float c) { return times(mx::tanh(x / Array(c, x.dtype())), c); }

Array times(const Array& x, double factor) {
  return x * Array(static_cast<float>(factor), x.dtype());
}

}  // namespace hearth::tensor
