// What the kernels' benchmarks share: the machine's own pace, and a check before the clock starts.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "tensor/kernels/kernels.h"
#include "tensor/kernels/thread_pool.h"

namespace hearth::kernels::benching {
namespace mx = mlx::core;

/// Bytes per second that the pool's threads read from memory, the best of ten passes over 256 MiB.
inline double memory_bandwidth() {
  static const double measured = [] {
    const std::vector<std::uint64_t> memory(std::size_t{32} << 20, 1);
    const std::size_t tasks = 64, each = memory.size() / tasks;
    std::vector<std::uint64_t> sums(tasks * 8);
    double best = 1e9;
    for (int pass = 0; pass < 10; ++pass) {
      const auto start = std::chrono::steady_clock::now();
      shared_pool()->run(tasks, [&](std::size_t i) {
        const auto* from = memory.data() + i * each;
        sums[i * 8] = std::accumulate(from, from + each, std::uint64_t{0});
      });
      benchmark::DoNotOptimize(sums.data());
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count());
    }
    return static_cast<double>(memory.size()) * 8 / best;
  }();
  return measured;
}

/// Ends the program when a result is further from its twin than `bound` times the twin's size.
inline void check(const Array& got, const Array& expected, float bound) {
  const float error = mx::max(mx::abs(mx::subtract(got, expected))).item<float>();
  const float size = mx::max(mx::abs(expected)).item<float>();
  if (error <= bound * size) return;
  std::fprintf(stderr, "wrong result: off by %g where numbers reach %g\n", error, size);
  std::exit(EXIT_FAILURE);
}

/// Counters of a benchmark whose iteration moves `bytes` and computes `operations`.
inline void rates(benchmark::State& state, double bytes, double operations) {
  using benchmark::Counter;
  const auto rate = Counter::kIsIterationInvariantRate;
  state.counters["bytes/s"] = Counter(bytes, rate, Counter::kIs1000);
  state.counters["of_memory"] = Counter(bytes / memory_bandwidth(), rate);
  state.counters["op/s"] = Counter(operations, rate, Counter::kIs1000);
}

inline Array normal(const mx::Shape& shape, std::uint64_t seed) {
  Array x = mx::random::normal(shape, mx::float32, mx::random::key(seed));
  x.eval();
  return x;
}

}  // namespace hearth::kernels::benching
