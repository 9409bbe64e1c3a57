// A whole step of a small model made of the kernels alone, with random weights: what the kernels
// and the nodes of the graph cost together. The shape is SmolLM2-135M's in 4 bits.
#include <cmath>

#include "tensor/kernels/attend_testing.h"
#include "tensor/kernels/benching.h"

namespace hearth::kernels {
namespace {

using benching::normal;
namespace mx = mlx::core;
using Weights = std::shared_ptr<const PackedLinear>;

constexpr int layers = 30, hidden = 576, intermediate = 1536, vocabulary = 49152;
constexpr testing::Shape attention{9, 3, 64};

Weights quantized(int n, int k, std::uint64_t seed) {
  const auto q = mx::quantize(mx::multiply(normal({n, k}, seed), Array(0.03f)), 64, 4);
  return PackedLinear::affine(q[0], mx::astype(q[1], mx::bfloat16), mx::astype(q[2], mx::bfloat16),
                              64, 4);
}

struct Layer {
  Array norm_in = mx::ones({hidden}), norm_mlp = mx::ones({hidden});
  std::vector<Weights> qkv, gate_up;
  Weights o, down;
  std::shared_ptr<PagedKv> kv = testing::pages_for(attention);

  explicit Layer(std::uint64_t seed)
      : qkv{quantized(576, hidden, seed), quantized(192, hidden, seed + 1),
            quantized(192, hidden, seed + 2)},
        gate_up{quantized(intermediate, hidden, seed + 3),
                quantized(intermediate, hidden, seed + 4)},
        o(quantized(hidden, 576, seed + 5)), down(quantized(hidden, intermediate, seed + 6)) {}
};

struct Model {
  std::vector<Layer> all;
  Weights table = quantized(vocabulary, hidden, 1);
  Array norm_out = mx::ones({hidden});
  AttendOptions options = testing::options_of(attention);

  Model() {
    for (int i = 0; i < layers; ++i) all.emplace_back(100 + 10 * i);
  }

  /// ids [T] -> logits of the last token
  Array operator()(const Array& ids) {
    const int tokens = ids.shape(0);
    const RowSlice slices[] = {{0, tokens}};
    Array h = table->rows(ids);
    Array x = rms_norm(h, all[0].norm_in, 1e-5f);
    for (int i = 0; i < layers; ++i) {
      auto& layer = all[i];
      const std::shared_ptr<PagedKv> rows[] = {layer.kv};
      const Array attended = attend(linear(x, layer.qkv), rows, slices, options);
      auto [mid, normed] = add_rms_norm(h, linear(attended, layer.o), layer.norm_mlp, 1e-5f);
      const Array mlp = linear(gated(linear(normed, layer.gate_up), Activation::silu), layer.down);
      const Array& next = i + 1 < layers ? all[i + 1].norm_in : norm_out;
      auto [out, out_normed] = add_rms_norm(mid, mlp, next, 1e-5f);
      h = out;
      x = out_normed;
    }
    return linear(mx::slice(x, {tokens - 1, 0}, {tokens, hidden}), table);
  }

  void truncate(int offset) {
    for (auto& layer : all) layer.kv->truncate(offset);
  }

  double bytes() const {
    double sum = static_cast<double>(table->bytes());
    for (const auto& l : all) {
      sum += static_cast<double>(l.o->bytes() + l.down->bytes());
      for (const auto& w : l.qkv) sum += static_cast<double>(w->bytes());
      for (const auto& w : l.gate_up) sum += static_cast<double>(w->bytes());
    }
    return sum;
  }
};

/// Exits unless a prompt in one step gives the same logits, bit for bit, as token after token.
void check_model(Model& model) {
  const Array ids = mx::arange(1, 21, mx::int32);
  Array at_once = model(ids);
  at_once.eval();
  model.truncate(0);
  Array last = at_once;
  for (int i = 0; i < 20; ++i) {
    last = model(mx::slice(ids, {i}, {i + 1}));
    last.eval();
  }
  model.truncate(0);
  if (mx::array_equal(last, at_once).item<bool>()) return;
  std::fprintf(stderr, "wrong result: a prompt at once differs from token after token\n");
  std::exit(EXIT_FAILURE);
}

void step(benchmark::State& state) {
  static Model model;
  check_model(model);
  const int past = static_cast<int>(state.range(0)), tokens = static_cast<int>(state.range(1));
  if (past > 0) model(mx::zeros({past}, mx::int32)).eval();
  const Array ids = mx::arange(0, tokens, mx::int32);
  for (auto _ : state) {
    Array logits = model(ids);
    logits.eval();
    model.truncate(past);
  }
  model.truncate(0);
  benching::rates(state, model.bytes(), 2 * 134.5e6 * tokens);
  state.counters["tokens/s"] =
      benchmark::Counter(tokens, benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(step)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond)
    ->ArgNames({"past", "tokens"})
    ->ArgsProduct({{0, 100, 1000}, {1, 2, 4, 16}})
    ->Args({0, 256})
    ->Args({0, 512});

}  // namespace
}  // namespace hearth::kernels

BENCHMARK_MAIN();
