// The nodes that work row by row: norms and gates.
#include <fmt/format.h>

#include <stdexcept>

#include "tensor/kernels/affine_simd.h"
#include "tensor/kernels/cuda/cuda.h"
#include "tensor/kernels/node.h"
#include "tensor/kernels/rowwise_simd.h"
#include "tensor/kernels/thread_pool.h"

namespace hearth::kernels {
namespace mx = mlx::core;
namespace {

/// Calls row(i) for each, on several threads where there are many numbers.
template <class F>
void for_each_row(std::size_t rows, std::size_t width, const F& row) {
  constexpr std::size_t serial = 32768;
  const std::size_t at_once = std::max<std::size_t>(1, 8192 / std::max<std::size_t>(1, width));
  const std::size_t tasks = (rows + at_once - 1) / at_once;
  for_each_task(tasks, rows * width > serial, [&](std::size_t task) {
    const std::size_t end = std::min(rows, (task + 1) * at_once);
    for (std::size_t i = task * at_once; i < end; ++i) row(i);
  });
}

class RmsNorm final : public Node {
 public:
  explicit RmsNorm(float eps) : eps_(eps) {}
  const char* name() const override { return "hearth::kernels::RmsNorm"; }

  void eval_cpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    const float* x = row_order(inputs[0]);
    const float* weight = inputs.size() > 1 ? row_order(inputs[1]) : nullptr;
    float* out = allocate(outputs[0]);
    const std::size_t width = outputs[0].shape(-1);
    const std::size_t rows = width == 0 ? 0 : outputs[0].size() / width;
    dispatch([=, eps = eps_] {
      for_each_row(rows, width, [&](std::size_t i) {
        rms_norm_row(x + i * width, weight, eps, static_cast<int>(width), out + i * width);
      });
    });
  }

 private:
  float eps_;
};

class AddRmsNorm final : public Node {
 public:
  explicit AddRmsNorm(float eps) : eps_(eps) {}
  const char* name() const override { return "hearth::kernels::AddRmsNorm"; }

  void eval_cpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    const float* x = row_order(inputs[0]);
    const float* y = row_order(inputs[1]);
    const float* weight = row_order(inputs[2]);
    float* sum = allocate(outputs[0]);
    float* out = allocate(outputs[1]);
    const std::size_t width = outputs[0].shape(-1);
    const std::size_t rows = width == 0 ? 0 : outputs[0].size() / width;
    dispatch([=, eps = eps_] {
      for_each_row(rows, width, [&](std::size_t i) {
        const std::size_t at = i * width;
        const int count = static_cast<int>(width);
        add_row(x + at, y + at, count, sum + at);
        rms_norm_row(sum + at, weight, eps, count, out + at);
      });
    });
  }

 private:
  float eps_;
};

/// One input [..., 2D], gate first, or two [..., D].
class Gated final : public Node {
 public:
  explicit Gated(Activation activation) : activation_(activation) {}
  const char* name() const override { return "hearth::kernels::Gated"; }

  void eval_cpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    float* out = allocate(outputs[0]);
    const std::size_t width = outputs[0].shape(-1);
    const std::size_t rows = width == 0 ? 0 : outputs[0].size() / width;
    const float* gate = row_order(inputs[0]);
    const bool together = inputs.size() == 1;
    const float* up = together ? gate + width : row_order(inputs[1]);
    const std::size_t stride = together ? 2 * width : width;
    const auto apply = activation_ == Activation::silu ? silu_gate_row : gelu_gate_row;
    dispatch([=] {
      for_each_row(rows, width, [&](std::size_t i) {
        apply(gate + i * stride, up + i * stride, static_cast<int>(width), out + i * width);
      });
    });
  }

 private:
  Activation activation_;
};

void require_width(const Array& weight, const Array& x, const char* what) {
  require_float32(weight, what);
  if (weight.ndim() == 1 && x.ndim() > 0 && weight.shape(0) == x.shape(-1)) return;
  throw std::invalid_argument(fmt::format("{} has {} numbers, expected {}", what, weight.size(),
                                          x.ndim() > 0 ? x.shape(-1) : 0));
}

void require_same_shape(const Array& a, const Array& b, const char* what) {
  if (a.shape() == b.shape() && a.ndim() > 0) return;
  throw std::invalid_argument(
      fmt::format("{} differ in shape: {} and {} numbers", what, a.size(), b.size()));
}

}  // namespace

Array rms_norm(const Array& x, const std::optional<Array>& weight, float eps) {
  require_float32(x, "rms_norm: x");
  if (x.ndim() == 0) throw std::invalid_argument("rms_norm: x is a scalar");
  std::vector<Array> inputs{x};
  if (weight) {
    require_width(*weight, x, "rms_norm: weight");
    inputs.push_back(*weight);
  }
  if (cuda::active()) return cuda::rms_norm(x, weight, eps);
  return Array(x.shape(), mx::float32, std::make_shared<RmsNorm>(eps), std::move(inputs));
}

std::pair<Array, Array> add_rms_norm(const Array& x, const Array& y, const Array& weight,
                                     float eps) {
  require_float32(x, "add_rms_norm: x");
  require_float32(y, "add_rms_norm: y");
  require_same_shape(x, y, "add_rms_norm: x and y");
  require_width(weight, x, "add_rms_norm: weight");
  if (cuda::active()) return cuda::add_rms_norm(x, y, weight, eps);
  auto both = Array::make_arrays({x.shape(), x.shape()}, {mx::float32, mx::float32},
                                 std::make_shared<AddRmsNorm>(eps), {x, y, weight});
  return {both[0], both[1]};
}

Array gated(const Array& gate, const Array& up, Activation activation) {
  require_float32(gate, "gated: gate");
  require_float32(up, "gated: up");
  require_same_shape(gate, up, "gated: gate and up");
  if (cuda::active()) return cuda::gated(gate, up, activation);
  return Array(gate.shape(), mx::float32, std::make_shared<Gated>(activation), {gate, up});
}

Array gated(const Array& gate_up, Activation activation) {
  require_float32(gate_up, "gated: gate_up");
  auto shape = gate_up.shape();
  if (shape.empty() || shape.back() % 2 != 0) {
    throw std::invalid_argument("gated: gate_up has rows of odd length, expected gate and up");
  }
  if (cuda::active()) return cuda::gated(gate_up, {}, activation);
  shape.back() /= 2;
  return Array(std::move(shape), mx::float32, std::make_shared<Gated>(activation), {gate_up});
}

const char* simd_name() { return simd_target_name(); }

}  // namespace hearth::kernels
