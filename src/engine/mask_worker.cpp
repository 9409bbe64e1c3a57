#include "engine/mask_worker.h"

#include <algorithm>
#include <exception>

namespace hearth::engine {
namespace {

void compute(MaskJob& job) {
  if (!job.mask) return;
  try {
    job.words = job.mask->compute();
  } catch (const std::exception& e) {
    job.words = fail(ErrorCode::internal, e.what());
  }
}

}  // namespace

void MaskWorker::start(std::vector<MaskJob>& jobs) {
  if (std::ranges::none_of(jobs, [](const auto& job) { return job.mask; })) return;
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  }
  {
    const std::scoped_lock lock(mutex_);
    jobs_ = &jobs;
  }
  changed_.notify_all();
}

void MaskWorker::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !jobs_; });
}

void MaskWorker::run(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return jobs_ != nullptr; })) {
    auto& jobs = *jobs_;
    lock.unlock();
    for (auto& job : jobs) compute(job);
    lock.lock();
    jobs_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace hearth::engine
