// The engine thread's loop: admit, plan, forward, sample, deliver.
#pragma once

#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "base/inbox.h"
#include "engine/admission.h"
#include "engine/checkpoints.h"
#include "engine/engine.h"
#include "engine/mask_worker.h"
#include "engine/pace.h"
#include "engine/prompt_cache/prompt_cache.h"
#include "engine/runner.h"
#include "engine/sequence.h"

namespace hearth::engine {

/// What has the engine thread to itself.
struct LoneJob {
  LoneWork work;
  std::promise<Result<void>> done;
};

/// A row to be, or work that runs alone.
struct Job {
  GenerateRequest request;
  std::shared_ptr<TokenStream> stream;
  Sequence::Clock::time_point submitted;
  Grant grant;
  std::shared_ptr<Checkpoints::Claim> claim;  // null: the answer is not kept
  std::shared_ptr<LoneJob> alone;             // then nothing of a row is set
};

/// Counters that other threads read.
struct Counters {
  std::atomic<int> active{0}, waiting{0};
  std::atomic<std::uint64_t> submitted{0}, finished{0}, cancelled{0}, prompt_tokens{0},
      completion_tokens{0}, steps{0};
  std::atomic<std::size_t> kv_bytes{0}, kv_projected{0};
};

class Scheduler {
 public:
  /// @param prompt_cache  that rows take from and give to; null: none
  Scheduler(const models::Model& model, const EngineOptions& options, bool kernels,
            PromptCache* prompt_cache, Counters& counters);

  /// Runs until `stop`; then what still runs or waits is cancelled.
  void run(Inbox<Job>& inbox, std::stop_token stop);

 private:
  void enqueue(std::vector<Job> jobs);
  void give_up(Job& job);
  void drop_cancelled();
  bool may_start(const Job& job) const;
  void admit();
  void take_cached();
  void start(Job& job);
  /// Gives a new row what its answer had come to.
  void resume(Sequence& row, const Job& job);
  void refuse(Job& job, const std::string& what);
  void run_alone(LoneJob& job);
  void turn();
  void step();
  std::vector<Row> plan() const;
  RowWork work_of(Sequence& sequence, int tokens) const;
  /// The step's forward pass, its rows' masks beside it.
  std::vector<RowLogits> forward(const std::vector<RowWork>& work, std::vector<MaskJob>& masks);
  /// Takes what the step gave a row. @param mask  that of a row that is sampled; else null
  void advance(Sequence& sequence, int tokens, const RowLogits& logits, const MaskJob* mask);
  void sample_row(Sequence& sequence, const tensor::Array& logits, const MaskJob& mask);
  void deliver(Sequence& sequence, Sampled sampled);
  /// Keeps what the row's answer has come to, where that is due.
  void checkpoint(Sequence& sequence);
  void end(Sequence& sequence, Finish finish);
  void fail_row(Sequence& sequence, std::string what);
  void remove_ended();
  void count_bytes();
  /// Asserts, in builds with assertions, what holds between two steps.
  void check_invariants() const;
  Sequence& find(std::uint64_t id) const;
  bool idle() const { return rows_.empty() && waiting_.empty(); }

  const models::Model& model_;
  const EngineOptions options_;
  const bool kernels_;
  const std::vector<tensor::CacheSpec> cache_specs_;
  const Runner runner_;
  PromptCache* const prompt_cache_;  // null: none
  Counters& counters_;
  MaskWorker mask_worker_;
  Pace pace_;
  std::uint64_t next_id_ = 1;
  std::size_t counted_rows_ = 0;  // when count_bytes() last counted
  Sequence::Clock::time_point counted_at_;
  std::deque<Job> waiting_;
  std::vector<std::unique_ptr<Sequence>> rows_;  // in arrival order; null once ended
};

}  // namespace hearth::engine
