// Our own fork-join pool: short parallel loops inside one kernel, several thousand a second.
// The caller works too and never waits for a worker that has not started, so a worker without a
// core costs nothing. Workers spin for microseconds, then park.
#pragma once

#include <cstddef>
#include <memory>

namespace hearth::kernels {

/// A borrowed callable `void(std::size_t task)`: two pointers, no allocation.
class TaskRef {
 public:
  template <class F>
  TaskRef(const F& f)  // NOLINT: implicit, so that a lambda can be passed
      : object_(&f),
        call_([](const void* o, std::size_t task) { (*static_cast<const F*>(o))(task); }) {}
  void operator()(std::size_t task) const { call_(object_, task); }

 private:
  const void* object_;
  void (*call_)(const void*, std::size_t);
};

class ThreadPool {
 public:
  /// @param threads  the caller's included, at least 1
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// Runs task(0) ... task(tasks - 1), each once, in any order, and returns when all are done.
  /// Called from inside a task, or while another thread is using the pool, it runs them all on the
  /// caller's thread. The first exception thrown by a task ends the loop and is thrown here.
  void run(std::size_t tasks, TaskRef task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The kernels' pool: one thread a core until set_threads() says otherwise.
std::shared_ptr<ThreadPool> shared_pool();

/// Runs the tasks on the kernels' pool, or on this thread when `parallel` is false.
void for_each_task(std::size_t tasks, bool parallel, TaskRef task);

}  // namespace hearth::kernels
