#include "server/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace hearth::server {
namespace {

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void value(std::string& out, std::string_view name, std::string_view type, std::string_view help,
           auto number) {
  head(out, name, type, help);
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, number);
}

/// A label's value, with what the format reserves escaped.
std::string label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

const std::vector<double> waits{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                0.5,   1,      2.5,   5,    10,    30,   60,  300};
const std::vector<double> gaps{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                               0.1,    0.2,   0.5,   1,     2.5,  10};

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::add(double seconds) {
  const auto at = std::ranges::lower_bound(bounds_, seconds) - bounds_.begin();
  ++counts_[at];
  ++count_;
  sum_ += seconds;
}

void Histogram::print(std::string_view name, std::string_view help, std::string& out) const {
  head(out, name, "histogram", help);
  const auto to = std::back_inserter(out);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    below += counts_[i];
    fmt::format_to(to, "{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], below);
  }
  fmt::format_to(to, "{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, count_,
                 sum_);
}

Metrics::Metrics()
    : request_seconds(waits), queue_seconds(waits), prefill_seconds(waits),
      first_token_seconds(waits), inter_token_seconds(gaps) {}

std::string Metrics::print(const Gauges& gauges) const {
  std::string out;
  print_server(gauges, out);
  print_answers(out);
  print_engine(gauges, out);
  return out;
}

std::string Metrics::print_front(const Gauges& gauges) const {
  std::string out;
  print_server(gauges, out);
  return out;
}

void Metrics::print_server(const Gauges& gauges, std::string& out) const {
  head(out, "hearth_info", "gauge", "What is running.");
  fmt::format_to(std::back_inserter(out), "hearth_info{{version=\"{}\",model=\"{}\"}} 1\n",
                 HEARTH_VERSION, label(gauges.model));
  value(out, "hearth_start_time_seconds", "gauge", "Unix time of the server's start.",
        gauges.started);
  head(out, "hearth_requests_total", "counter", "HTTP requests by route and status.");
  for (const auto& [key, count] : requests) {
    fmt::format_to(std::back_inserter(out),
                   "hearth_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
                   key.second, count);
  }
  request_seconds.print("hearth_request_seconds", "Time from a request to its reply's end.", out);
  value(out, "hearth_connections", "gauge", "Open connections.", gauges.connections);
  value(out, "hearth_requests_preparing", "gauge", "Requests being tokenised.", gauges.preparing);
  value(out, "hearth_models_resident", "gauge", "Models that are loaded.", gauges.models_resident);
  value(out, "hearth_responses_stored", "gauge", "Responses that are kept.",
        gauges.responses_stored);
  value(out, "hearth_responses_stored_bytes", "gauge", "Bytes of responses that are kept.",
        gauges.responses_bytes);
}

void Metrics::print_answers(std::string& out) const {
  head(out, "hearth_answers_total", "counter", "Answers by how they ended.");
  for (const auto& [outcome, count] : answers) {
    fmt::format_to(std::back_inserter(out), "hearth_answers_total{{outcome=\"{}\"}} {}\n", outcome,
                   count);
  }
  value(out, "hearth_prompt_tokens_total", "counter", "Prompt tokens of finished requests.",
        prompt_tokens);
  value(out, "hearth_cached_tokens_total", "counter", "Prompt tokens taken from a cache.",
        cached_tokens);
  value(out, "hearth_completion_tokens_total", "counter", "Tokens generated.", completion_tokens);
  value(out, "hearth_reasoning_tokens_total", "counter", "Of those, tokens of reasoning.",
        reasoning_tokens);
  value(out, "hearth_tool_calls_total", "counter", "Tool calls told.", tool_calls);
  value(out, "hearth_tool_calls_broken_total", "counter",
        "Tool calls that were begun and could not be read.", broken_tool_calls);
  queue_seconds.print("hearth_queue_seconds", "Time a row waited for the engine.", out);
  prefill_seconds.print("hearth_prefill_seconds", "Time of a row's prompt in the engine.", out);
  first_token_seconds.print("hearth_time_to_first_token_seconds", "Time to the first token.", out);
  inter_token_seconds.print("hearth_inter_token_seconds", "Mean time between tokens.", out);
}

void Metrics::print_prompt_cache(const engine::PromptCacheStats& cache, std::string& out) {
  value(out, "hearth_prompt_cache_hits_total", "counter", "Prompts that took something from it.",
        cache.hits);
  value(out, "hearth_prompt_cache_misses_total", "counter", "Prompts that found nothing in it.",
        cache.misses);
  value(out, "hearth_prompt_cache_hit_tokens_total", "counter", "Tokens taken from it.",
        cache.hit_tokens);
  value(out, "hearth_prompt_cache_evicted_total", "counter", "Blocks that left it for others.",
        cache.evicted);
  value(out, "hearth_prompt_cache_blocks", "gauge", "Blocks in it.", cache.entries);
  value(out, "hearth_prompt_cache_bytes", "gauge", "Bytes of its blocks.", cache.bytes);
  value(out, "hearth_prompt_cache_max_bytes", "gauge", "Bytes that it may hold.", cache.max_bytes);
}

void Metrics::print_ssd_cache(const engine::DiskCacheStats& cache, std::string& out) {
  value(out, "hearth_ssd_cache_restores_total", "counter", "Prompts that took blocks from files.",
        cache.restores);
  value(out, "hearth_ssd_cache_spills_total", "counter", "Files of blocks written.", cache.spills);
  value(out, "hearth_ssd_cache_dropped_total", "counter",
        "Blocks not written since too many waited.", cache.dropped_spills);
  value(out, "hearth_ssd_cache_failed_total", "counter",
        "Blocks not written since the system refused.", cache.failed_spills);
  value(out, "hearth_ssd_cache_bad_files_total", "counter", "Files found broken and thrown away.",
        cache.bad_files);
  value(out, "hearth_ssd_cache_demotions_total", "counter", "Idle blocks that left memory.",
        cache.demotions);
  value(out, "hearth_ssd_cache_files", "gauge", "Files of blocks.", cache.entries);
  value(out, "hearth_ssd_cache_bytes", "gauge", "Bytes of these files.", cache.bytes);
}

void Metrics::print_checkpoints(const engine::CheckpointStats& now, std::string& out) {
  value(out, "hearth_checkpoints_written_total", "counter", "Checkpoints of answers written.",
        now.written);
  value(out, "hearth_checkpoints_failed_total", "counter", "Checkpoints that were refused.",
        now.failed);
  value(out, "hearth_checkpoints_resumed_total", "counter", "Answers that went on from one.",
        now.resumed);
  value(out, "hearth_checkpoints_replayed_tokens_total", "counter",
        "Tokens that were said again without being generated.", now.replayed_tokens);
}

void Metrics::print_engine(const Gauges& gauges, std::string& out) {
  value(out, "hearth_rows_max", "gauge", "Rows that may be active.", gauges.rows_max);
  value(out, "hearth_rows_active", "gauge", "Rows that the engine decodes.", gauges.rows_active);
  value(out, "hearth_rows_waiting", "gauge", "Rows that wait for a place.", gauges.rows_waiting);
  value(out, "hearth_rows_submitted_total", "counter", "Rows ever submitted.",
        gauges.rows_submitted);
  value(out, "hearth_rows_finished_total", "counter", "Rows that came to their end.",
        gauges.rows_finished);
  value(out, "hearth_rows_cancelled_total", "counter", "Rows given up.", gauges.rows_cancelled);
  value(out, "hearth_engine_steps_total", "counter", "Forward passes.", gauges.engine_steps);
  value(out, "hearth_tokens_prefilled_total", "counter",
        "Prompt tokens that the engine ran, those of rows given up too.", gauges.tokens_prefilled);
  value(out, "hearth_tokens_sampled_total", "counter",
        "Tokens that the engine sampled, those of rows given up too.", gauges.tokens_sampled);
  print_prompt_cache(gauges.prompt_cache, out);
  if (!gauges.ssd_cache.folder.empty()) print_ssd_cache(gauges.ssd_cache, out);
  if (gauges.checkpoints.every > 0) print_checkpoints(gauges.checkpoints, out);
  value(out, "hearth_kv_bytes", "gauge", "Bytes of KV caches.", gauges.kv_bytes);
  value(out, "hearth_memory_active_bytes", "gauge", "MLX memory in use.", gauges.memory_active);
  value(out, "hearth_memory_peak_bytes", "gauge", "MLX memory at its peak.", gauges.memory_peak);
  value(out, "hearth_memory_cache_bytes", "gauge", "MLX memory kept for reuse.",
        gauges.memory_cache);
  value(out, "hearth_memory_total_bytes", "gauge", "Memory of the device.", gauges.memory_total);
  value(out, "hearth_weights_bytes", "gauge", "Bytes of the models' weights.",
        gauges.weights_bytes);
}

}  // namespace hearth::server
