// Attention: one token after a long past, and whole prompts.
#include <cmath>

#include "tensor/kernels/attend_testing.h"
#include "tensor/kernels/benching.h"

namespace hearth::kernels {
namespace {

using testing::attend_row;
using testing::options_of;
using testing::pages_for;
using testing::plain_attention;
using testing::Shape;
using testing::tokens_of;

void check_shape(const Shape& s) {
  const auto qkv = tokens_of(s, 100, 1);
  benching::check(attend_row(qkv, pages_for(s), options_of(s)),
                  plain_attention(s, qkv, options_of(s)), 2e-3f);
}

Shape shape_of(const benchmark::State& state) {
  return {.heads = static_cast<int>(state.range(1)),
          .kv_heads = static_cast<int>(state.range(2)),
          .head_dim = static_cast<int>(state.range(3))};
}

/// One token after `past` tokens; it is taken back each time.
void decode(benchmark::State& state) {
  const Shape s = shape_of(state);
  check_shape(s);
  const int past = static_cast<int>(state.range(0));
  const auto kv = pages_for(s);
  const auto o = options_of(s);
  for (int written = 0; written < past;) {
    const int some = std::min(512, past - written);
    attend_row(tokens_of(s, some, written), kv, o);
    written += some;
  }
  const auto token = tokens_of(s, 1, 1);
  for (auto _ : state) {
    attend_row(token, kv, o);
    kv->truncate(past);
  }
  benching::rates(state, 4.0 * past * s.kv_heads * s.head_dim, 4.0 * past * s.heads * s.head_dim);
}

/// A whole prompt.
void prefill(benchmark::State& state) {
  const Shape s = shape_of(state);
  check_shape(s);
  const int tokens = static_cast<int>(state.range(0));
  const auto qkv = tokens_of(s, tokens, 1);
  const auto o = options_of(s);
  for (auto _ : state) attend_row(qkv, pages_for(s), o);
  benching::rates(state, 4.0 * tokens * s.kv_heads * s.head_dim,
                  2.0 * tokens * tokens * s.heads * s.head_dim);
}

void shapes(benchmark::internal::Benchmark* b, const std::vector<int>& tokens) {
  b->UseRealTime()->Unit(benchmark::kMicrosecond)->ArgNames({"tokens", "heads", "kv", "dim"});
  for (const int count : tokens) {
    b->Args({count, 9, 3, 64});    // SmolLM2-135M
    b->Args({count, 32, 8, 128});  // Llama 3 8B
  }
}

BENCHMARK(decode)->Apply([](auto* b) { shapes(b, {128, 1024, 8192, 32768}); });
BENCHMARK(prefill)->Apply([](auto* b) { shapes(b, {64, 512, 2048}); });

}  // namespace
}  // namespace hearth::kernels

BENCHMARK_MAIN();
