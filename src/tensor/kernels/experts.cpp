// The node of layers that each token chooses: tokens are gathered by expert, each expert's layer
// runs over its own, and the results go back to their places.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tensor/kernels/node.h"
#include "tensor/kernels/packed.h"

namespace hearth::kernels {
namespace mx = mlx::core;
namespace {

/// What one run reads and writes.
struct Memory {
  const float* x;
  const std::int32_t* chosen;
  float* out;
  std::size_t choices;  // T · k
  std::size_t shared;   // choices of one row of x: k or 1
};

/// The choices of each expert, ascending.
std::vector<std::vector<std::size_t>> by_expert(const Memory& memory, std::size_t experts) {
  std::vector<std::vector<std::size_t>> choices(experts);
  for (std::size_t i = 0; i < memory.choices; ++i) choices[memory.chosen[i]].push_back(i);
  return choices;
}

void run(const PackedExperts& experts, const Memory& memory) {
  const std::size_t inputs = experts.front()->inputs(), outputs = experts.front()->outputs();
  const auto choices = by_expert(memory, experts.size());
  std::vector<float> rows, results;
  for (std::size_t e = 0; e < experts.size(); ++e) {
    const auto& own = choices[e];
    if (own.empty()) continue;
    rows.resize(own.size() * inputs);
    results.resize(own.size() * outputs);
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::copy_n(memory.x + own[i] / memory.shared * inputs, inputs, rows.data() + i * inputs);
    }
    multiply({std::static_pointer_cast<const Packed>(experts[e])}, rows.data(), own.size(), outputs,
             results.data());
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::copy_n(results.data() + i * outputs, outputs, memory.out + own[i] * outputs);
    }
  }
}

class ExpertLinear final : public Node {
 public:
  ExpertLinear(PackedExperts experts, bool shared)
      : experts_(std::move(experts)), shared_(shared) {}
  const char* name() const override { return "hearth::kernels::ExpertLinear"; }

  void eval_cpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    const auto& chosen = inputs[1];
    const Memory memory{.x = row_order(inputs[0]),
                        .chosen = chosen.data<std::int32_t>(),
                        .out = allocate(outputs[0]),
                        .choices = chosen.size(),
                        .shared = shared_ ? std::size_t(chosen.shape(1)) : 1};
    dispatch([experts = experts_, memory] { run(experts, memory); });
  }

 private:
  PackedExperts experts_;
  bool shared_;
};

}  // namespace

Array expert_linear(const Array& x, const Array& chosen, const PackedExperts& experts) {
  require_float32(x, "expert_linear: x");
  if (experts.empty()) throw std::invalid_argument("expert_linear: no experts");
  if (x.ndim() != 3 || chosen.ndim() != 2 || x.shape(0) != chosen.shape(0) ||
      (x.shape(1) != 1 && x.shape(1) != chosen.shape(1)) ||
      x.shape(2) != experts.front()->inputs()) {
    throw std::invalid_argument(
        fmt::format("expert_linear: x of {} numbers for {} choices", x.size(), chosen.size()));
  }
  const bool shared = x.shape(1) != chosen.shape(1) || chosen.shape(1) == 1;
  const auto last = Array(static_cast<int>(experts.size()) - 1, mx::int32);
  const auto ids = mx::contiguous(mx::clip(mx::astype(chosen, mx::int32), Array(0), last));
  return Array({chosen.shape(0), chosen.shape(1), experts.front()->outputs()}, mx::float32,
               std::make_shared<ExpertLinear>(experts, shared), {x, ids});
}

}  // namespace hearth::kernels
