// The engine thread's loop: admit, plan, forward, sample, deliver.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/inbox.h"
#include "engine/engine.h"
#include "engine/mask_worker.h"
#include "engine/prompt_cache/prompt_cache.h"
#include "engine/runner.h"
#include "engine/sequence.h"

namespace hearth::engine {

struct Job {
  GenerateRequest request;
  std::shared_ptr<TokenStream> stream;
  Sequence::Clock::time_point submitted;
};

/// Counters that other threads read.
struct Counters {
  std::atomic<int> active{0}, waiting{0};
  std::atomic<std::uint64_t> submitted{0}, finished{0}, cancelled{0}, prompt_tokens{0},
      completion_tokens{0}, steps{0};
  std::atomic<std::size_t> kv_bytes{0};
};

class Scheduler {
 public:
  /// @param prompt_cache  that rows take from and give to; null: none
  Scheduler(const models::Model& model, const EngineOptions& options, bool kernels,
            int context_length, PromptCache* prompt_cache, Counters& counters);

  /// Runs until `stop`; then what still runs or waits is cancelled.
  void run(Inbox<Job>& inbox, std::stop_token stop);

 private:
  void enqueue(std::vector<Job> jobs);
  void drop_cancelled();
  void admit();
  void take_cached();
  void step();
  std::vector<Row> plan() const;
  RowWork work_of(Sequence& sequence, int tokens) const;
  /// The step's forward pass, its rows' masks beside it.
  std::vector<tensor::Array> forward(const std::vector<RowWork>& work, std::vector<MaskJob>& masks);
  Sampled sample(const Sequence& sequence, const tensor::Array& logits, MaskWords mask) const;
  Sampled score(const Sequence& sequence, const tensor::Array& logits, TokenId id) const;
  void score_prompt(Sequence& sequence, std::span<const tensor::Array> logits, int from);
  void sample_row(Sequence& sequence, const tensor::Array& logits, const MaskJob& mask);
  void deliver(Sequence& sequence, Sampled sampled);
  void end(Sequence& sequence, Finish finish);
  void remove_ended();
  void fail_rows(const std::vector<Row>& rows, const std::string& what);
  Sequence& find(std::uint64_t id) const;
  bool idle() const { return rows_.empty() && waiting_.empty(); }

  const models::Model& model_;
  const EngineOptions options_;
  const bool kernels_;
  const int context_length_;
  const std::vector<tensor::CacheSpec> cache_specs_;
  const Runner runner_;
  PromptCache* const prompt_cache_;  // null: none
  Counters& counters_;
  MaskWorker mask_worker_;
  std::uint64_t next_id_ = 1;
  std::deque<Job> waiting_;
  std::vector<std::unique_ptr<Sequence>> rows_;  // in arrival order; null once ended
};

}  // namespace hearth::engine
