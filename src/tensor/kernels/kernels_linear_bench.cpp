// Linear layers of one to many rows. Few rows walk through more weights than the caches hold.
#include "tensor/kernels/benching.h"

namespace hearth::kernels {
namespace {

using namespace benching;  // NOLINT: the helpers of this program
using Weights = std::shared_ptr<const PackedLinear>;

constexpr std::size_t beyond_caches = std::size_t{96} << 20;

/// Times linear() over enough copies of a layer that each call finds its weights in memory.
void run(benchmark::State& state, const Weights& one, const std::function<Weights()>& copy) {
  const int rows = static_cast<int>(state.range(0));
  std::vector<Weights> copies{one};
  while (rows < 16 && copies.size() * one->bytes() < beyond_caches) copies.push_back(copy());
  const Array x = normal({rows, one->inputs()}, 2);
  std::size_t next = 0;
  for (auto _ : state) {
    Array y = linear(x, copies[next++ % copies.size()]);
    y.eval();
  }
  rates(state, static_cast<double>(one->bytes()), 2.0 * rows * one->inputs() * one->outputs());
}

void affine(benchmark::State& state) {
  const int n = static_cast<int>(state.range(1)), k = static_cast<int>(state.range(2));
  const int bits = static_cast<int>(state.range(3)), group = 64;
  const auto q = mx::quantize(normal({n, k}, 1), group, bits);
  const Array scales = mx::astype(q[1], mx::float16), biases = mx::astype(q[2], mx::float16);
  const auto make = [&] { return PackedLinear::affine(q[0], scales, biases, group, bits); };
  const auto one = make();
  const Array plain = mx::dequantize(q[0], mx::astype(scales, mx::float32),
                                     mx::astype(biases, mx::float32), group, bits);
  const Array x = normal({3, k}, 3);
  check(linear(x, one), mx::matmul(x, mx::transpose(plain)), 1e-3f);
  run(state, one, make);
}

void dense(benchmark::State& state, mx::Dtype dtype) {
  const int n = static_cast<int>(state.range(1)), k = static_cast<int>(state.range(2));
  const Array weight = mx::astype(normal({n, k}, 1), dtype);
  const auto make = [&] { return PackedLinear::dense(weight); };
  const auto one = make();
  const Array x = normal({3, k}, 3);
  check(linear(x, one), mx::matmul(x, mx::transpose(mx::astype(weight, mx::float32))), 1e-5f);
  run(state, one, make);
}

void shapes(benchmark::internal::Benchmark* b) {
  b->UseRealTime()->Unit(benchmark::kMicrosecond)->ArgNames({"rows", "n", "k"});
  for (const int rows : {1, 2, 4, 16, 64, 512}) b->Args({rows, 2048, 2048});
}

void affine_shapes(benchmark::internal::Benchmark* b) {
  b->UseRealTime()->Unit(benchmark::kMicrosecond)->ArgNames({"rows", "n", "k", "bits"});
  for (const int bits : {4, 8}) {
    for (const int rows : {1, 2, 3, 4, 8, 16, 64, 512}) b->Args({rows, 2048, 2048, bits});
  }
  for (const int rows : {1, 64}) {  // SmolLM2-135M: q, k and v; the output head
    b->Args({rows, 960, 576, 4});
    b->Args({rows, 49152, 576, 4});
  }
}

BENCHMARK(affine)->Apply(affine_shapes);
BENCHMARK_CAPTURE(dense, f32, mx::float32)->Apply(shapes);
BENCHMARK_CAPTURE(dense, bf16, mx::bfloat16)->Apply(shapes);

}  // namespace
}  // namespace hearth::kernels

BENCHMARK_MAIN();
