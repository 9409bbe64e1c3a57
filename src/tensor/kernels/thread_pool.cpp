#include "tensor/kernels/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tensor/kernels/kernels.h"

namespace hearth::kernels {
namespace {

constexpr auto spin_time = std::chrono::microseconds(30);
constexpr int spins_between_clock_reads = 16;

// Bits of ThreadPool::Impl::state: the number of the job, whether workers may still join it, and
// how many have.
constexpr std::uint64_t open_bit = std::uint64_t{1} << 31;
constexpr std::uint64_t active_mask = open_bit - 1;
std::uint64_t job_of(std::uint64_t state) { return state >> 32; }

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `done()` or the time is up.
/// @return whether done
template <class Done>
bool spin_until(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < spins_between_clock_reads; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

thread_local bool inside_a_task = false;

}  // namespace

struct ThreadPool::Impl {
  // One job at a time: held by the thread that runs it.
  std::mutex job;

  // The job; written before `state` opens it, read by workers that have joined.
  const TaskRef* task = nullptr;
  std::size_t tasks = 0;
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;  // guards error

  alignas(64) std::atomic<std::uint64_t> state{0};
  std::atomic<int> parked{0};
  std::atomic<bool> stopping{false};
  std::mutex park_mutex;  // for the two conditions; the data are the atomics above
  std::condition_variable wake_workers;
  std::condition_variable wake_caller;

  std::vector<std::jthread> workers;

  void take_tasks(const TaskRef& run, std::size_t count) {
    inside_a_task = true;
    for (;;) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) break;
      try {
        run(i);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
    inside_a_task = false;
  }

  void open_job() {
    const auto old = state.load(std::memory_order_relaxed);
    state.store(((job_of(old) + 1) << 32) | open_bit, std::memory_order_seq_cst);
    if (parked.load(std::memory_order_seq_cst) == 0) return;
    const std::lock_guard lock(park_mutex);
    wake_workers.notify_all();
  }

  void close_job() {
    state.fetch_and(~open_bit, std::memory_order_acq_rel);
    const auto idle = [this] { return (state.load(std::memory_order_acquire) & active_mask) == 0; };
    if (spin_until(idle)) return;
    std::unique_lock lock(park_mutex);
    wake_caller.wait(lock, idle);
  }

  bool has_new_job(std::uint64_t last) const {
    const auto now = state.load(std::memory_order_seq_cst);
    return (now & open_bit) != 0 && job_of(now) != last;
  }

  void wait_for_job(std::uint64_t last) {
    const auto ready = [&] {
      return stopping.load(std::memory_order_relaxed) || has_new_job(last);
    };
    if (spin_until(ready)) return;
    std::unique_lock lock(park_mutex);
    parked.fetch_add(1, std::memory_order_seq_cst);
    wake_workers.wait(lock, ready);
    parked.fetch_sub(1, std::memory_order_relaxed);
  }

  /// @return the job joined, if one is open and new
  std::optional<std::uint64_t> join_job(std::uint64_t last) {
    auto seen = state.load(std::memory_order_relaxed);
    while ((seen & open_bit) != 0 && job_of(seen) != last) {
      if (state.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) {
        return job_of(seen);
      }
    }
    return std::nullopt;
  }

  void leave_job() {
    const auto before = state.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & open_bit) != 0 || (before & active_mask) != 1) return;
    const std::lock_guard lock(park_mutex);
    wake_caller.notify_one();
  }

  void work() {
    std::uint64_t last = 0;
    while (!stopping.load(std::memory_order_relaxed)) {
      wait_for_job(last);
      const auto joined = join_job(last);
      if (!joined) continue;
      last = *joined;
      take_tasks(*task, tasks);
      leave_job();
    }
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  for (int i = 1; i < threads; ++i) impl_->workers.emplace_back([this] { impl_->work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(impl_->park_mutex);
    impl_->stopping = true;
    impl_->wake_workers.notify_all();
  }
  impl_->workers.clear();
}

int ThreadPool::threads() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::run(std::size_t tasks, TaskRef task) {
  std::unique_lock<std::mutex> job;
  const bool alone = inside_a_task || tasks < 2 || impl_->workers.empty();
  if (!alone) job = std::unique_lock(impl_->job, std::try_to_lock);
  if (!job.owns_lock()) {
    for (std::size_t i = 0; i < tasks; ++i) task(i);
    return;
  }
  impl_->task = &task;
  impl_->tasks = tasks;
  impl_->next.store(0, std::memory_order_relaxed);
  impl_->open_job();
  impl_->take_tasks(task, tasks);
  impl_->close_job();
  if (impl_->error) std::rethrow_exception(std::exchange(impl_->error, nullptr));
}

namespace {

int default_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

std::mutex& pool_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::shared_ptr<ThreadPool>& pool_slot() {  // guarded by pool_mutex()
  static std::shared_ptr<ThreadPool> pool;
  return pool;
}

}  // namespace

std::shared_ptr<ThreadPool> shared_pool() {
  const std::lock_guard lock(pool_mutex());
  auto& pool = pool_slot();
  if (!pool) pool = std::make_shared<ThreadPool>(default_threads());
  return pool;
}

void for_each_task(std::size_t tasks, bool parallel, TaskRef task) {
  if (parallel && tasks > 1) return shared_pool()->run(tasks, task);
  for (std::size_t i = 0; i < tasks; ++i) task(i);
}

void set_threads(int threads) {
  const int wanted = threads > 0 ? threads : default_threads();
  const std::lock_guard lock(pool_mutex());
  auto& pool = pool_slot();
  if (!pool || pool->threads() != wanted) pool = std::make_shared<ThreadPool>(wanted);
}

int threads() { return shared_pool()->threads(); }

}  // namespace hearth::kernels
