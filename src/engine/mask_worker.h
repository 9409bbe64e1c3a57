// Computes rows' masks on a thread of its own while the engine thread runs the forward pass.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "engine/token_mask.h"

namespace hearth::engine {

struct MaskJob {
  TokenMask* mask = nullptr;  // null: all may come
  Result<MaskWords> words = MaskWords{};
};

class MaskWorker {
 public:
  /// Begins computing; `jobs` must outlive finish(). One batch at a time.
  void start(std::vector<MaskJob>& jobs);
  /// Waits for the batch; nothing to do when none was started.
  void finish();

 private:
  void run(std::stop_token stop);

  std::mutex mutex_;  // guards jobs_
  std::condition_variable_any changed_;
  std::vector<MaskJob>* jobs_ = nullptr;
  // Last member: it starts after, and is joined before, everything it uses. Started on first use.
  std::jthread thread_;
};

}  // namespace hearth::engine
