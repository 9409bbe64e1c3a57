#include "tensor/kernels/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tensor/kernels/kernels.h"

namespace hearth::kernels {
namespace {

TEST(ThreadPool, RunsEachTaskOnce) {
  ThreadPool pool(4);
  for (const std::size_t tasks : {0u, 1u, 2u, 3u, 1000u}) {
    std::vector<std::atomic<int>> runs(tasks);
    pool.run(tasks, [&](std::size_t i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(ThreadPool, WhatTasksWroteIsSeenByTheCaller) {
  ThreadPool pool(3);
  std::vector<std::size_t> out(64);
  for (std::size_t round = 0; round < 2000; ++round) {
    pool.run(out.size(), [&](std::size_t i) { out[i] = round + i; });
    ASSERT_EQ(std::accumulate(out.begin(), out.end(), std::size_t{0}), 64 * round + 63 * 32);
  }
}

TEST(ThreadPool, WakesWorkersThatHaveParked) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    // Two tasks that wait for each other: they pass only when two threads run them.
    std::atomic<int> arrived{0};
    pool.run(2, [&](std::size_t) {
      ++arrived;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (arrived < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 2);
  }
}

TEST(ThreadPool, AnExceptionReachesTheCallerAndThePoolLives) {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(pool.run(100,
                          [](std::size_t i) {
                            if (i == 7) throw std::runtime_error("seven");
                          }),
                 std::runtime_error);
    std::atomic<int> ran{0};
    pool.run(100, [&](std::size_t) { ++ran; });
    EXPECT_EQ(ran, 100);
  }
}

TEST(ThreadPool, ATaskMayRunTasks) {
  ThreadPool pool(2);
  std::atomic<int> ran{0};
  pool.run(8, [&](std::size_t) { pool.run(8, [&](std::size_t) { ++ran; }); });
  EXPECT_EQ(ran, 64);
}

TEST(ThreadPool, ManyCallersShareIt) {
  ThreadPool pool(2);
  std::atomic<int> ran{0};
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int round = 0; round < 500; ++round) pool.run(5, [&](std::size_t) { ++ran; });
      });
    }
  }
  EXPECT_EQ(ran, 4 * 500 * 5);
}

TEST(ThreadPool, TheSharedOneHasTheThreadsAskedFor) {
  set_threads(3);
  EXPECT_EQ(threads(), 3);
  EXPECT_EQ(shared_pool()->threads(), 3);
  set_threads(0);
  EXPECT_GE(threads(), 1);
}

}  // namespace
}  // namespace hearth::kernels
