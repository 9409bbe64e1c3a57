// What /metrics tells Prometheus. Kept on the I/O thread, so nothing here locks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/model.h"

namespace hearth::server {

/// A Prometheus histogram of seconds.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void add(double seconds);
  void print(std::string_view name, std::string_view help, std::string& out) const;

 private:
  const std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;  // one more than bounds_: the rest
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

/// Values that are read at the moment of asking rather than counted.
struct Gauges {
  int connections = 0;
  int preparing = 0;
  std::string model;  // the first one; empty while it is not resident
  int models_resident = 0;
  std::int64_t started = 0;  // Unix seconds
  int rows_max = 0;
  int rows_active = 0;
  int rows_waiting = 0;
  std::uint64_t rows_submitted = 0;
  std::uint64_t rows_finished = 0;
  std::uint64_t rows_cancelled = 0;
  std::uint64_t engine_steps = 0;
  std::uint64_t tokens_prefilled = 0;
  std::uint64_t tokens_sampled = 0;
  std::size_t kv_bytes = 0;
  std::size_t kv_projected_bytes = 0;
  std::size_t kv_budget_bytes = 0;      // 0: none
  std::size_t memory_budget_bytes = 0;  // 0: none
  int enforced_context = 0;             // tokens; 0: none
  int safe_context = 0;                 // tokens
  engine::PromptCacheStats prompt_cache;
  engine::DiskCacheStats ssd_cache;
  engine::CheckpointStats checkpoints;
  std::size_t memory_active = 0;
  std::size_t memory_peak = 0;
  std::size_t memory_cache = 0;
  std::size_t memory_total = 0;
  std::size_t weights_bytes = 0;
  std::size_t responses_stored = 0;
  std::size_t responses_bytes = 0;
};

struct Metrics {
  std::map<std::pair<std::string, int>, std::uint64_t> requests;  // by route and status
  std::map<std::string_view, std::uint64_t> answers{              // by how they ended
                                                    {"stop", 0},
                                                    {"length", 0},
                                                    {"error", 0},
                                                    {"cancelled", 0}};
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::uint64_t reasoning_tokens = 0;
  std::uint64_t tool_calls = 0;
  std::uint64_t broken_tool_calls = 0;
  Histogram request_seconds;
  Histogram queue_seconds;        // from submission until a row is admitted
  Histogram prefill_seconds;      // from admission until its first token
  Histogram first_token_seconds;  // from the request's arrival
  Histogram inter_token_seconds;

  Metrics();

  /// The text exposition format, version 0.0.4.
  std::string print(const Gauges& gauges) const;
  /// The part of it that a server tells whose models are elsewhere.
  std::string print_front(const Gauges& gauges) const;

 private:
  void print_server(const Gauges& gauges, std::string& out) const;
  void print_answers(std::string& out) const;
  static void print_prompt_cache(const engine::PromptCacheStats& cache, std::string& out);
  static void print_ssd_cache(const engine::DiskCacheStats& cache, std::string& out);
  static void print_checkpoints(const engine::CheckpointStats& checkpoints, std::string& out);
  static void print_engine(const Gauges& gauges, std::string& out);
};

}  // namespace hearth::server
