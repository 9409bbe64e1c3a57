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
    : request_seconds(waits), queue_seconds(waits), first_token_seconds(waits),
      inter_token_seconds(gaps) {}

std::string Metrics::print(const Gauges& gauges) const {
  std::string out;
  head(out, "hearth_requests_total", "counter", "HTTP requests by route and status.");
  for (const auto& [key, count] : requests) {
    fmt::format_to(std::back_inserter(out),
                   "hearth_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first,
                   key.second, count);
  }
  value(out, "hearth_prompt_tokens_total", "counter", "Prompt tokens of finished requests.",
        prompt_tokens);
  value(out, "hearth_cached_tokens_total", "counter", "Prompt tokens taken from a cache.",
        cached_tokens);
  value(out, "hearth_completion_tokens_total", "counter", "Tokens generated.", completion_tokens);
  request_seconds.print("hearth_request_seconds", "Time from a request to its reply's end.", out);
  queue_seconds.print("hearth_queue_seconds", "Time a row waited for the engine.", out);
  first_token_seconds.print("hearth_time_to_first_token_seconds", "Time to the first token.", out);
  inter_token_seconds.print("hearth_inter_token_seconds", "Mean time between tokens.", out);
  value(out, "hearth_connections", "gauge", "Open connections.", gauges.connections);
  value(out, "hearth_requests_preparing", "gauge", "Requests being tokenised.", gauges.preparing);
  value(out, "hearth_rows_active", "gauge", "Rows that the engine decodes.", gauges.rows_active);
  value(out, "hearth_rows_waiting", "gauge", "Rows that wait for a place.", gauges.rows_waiting);
  value(out, "hearth_rows_submitted_total", "counter", "Rows ever submitted.",
        gauges.rows_submitted);
  value(out, "hearth_rows_finished_total", "counter", "Rows that came to their end.",
        gauges.rows_finished);
  value(out, "hearth_rows_cancelled_total", "counter", "Rows given up.", gauges.rows_cancelled);
  value(out, "hearth_engine_steps_total", "counter", "Forward passes.", gauges.engine_steps);
  value(out, "hearth_kv_bytes", "gauge", "Bytes of KV caches.", gauges.kv_bytes);
  value(out, "hearth_memory_active_bytes", "gauge", "MLX memory in use.", gauges.memory_active);
  value(out, "hearth_memory_peak_bytes", "gauge", "MLX memory at its peak.", gauges.memory_peak);
  value(out, "hearth_memory_cache_bytes", "gauge", "MLX memory kept for reuse.",
        gauges.memory_cache);
  return out;
}

}  // namespace hearth::server
