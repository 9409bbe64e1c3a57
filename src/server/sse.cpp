#include "server/sse.h"

#include <utility>

#include "services/chat/openai_common.h"
#include "services/chat/timings.h"

namespace hearth::server {
namespace {

const Error stopped{ErrorCode::internal, "the server was stopped before this answer was complete",
                    ""};

/// Encodes what is ready, counts it, and says in the log how the answer ended. The error of a
/// choice that failed ends it.
class Pump {
 public:
  Pump(Context& context, Connection& connection, const Running& running)
      : context_(context), connection_(connection), running_(running) {}
  Pump(const Pump&) = delete;
  /// The coroutine ends: whatever has not ended by now was given up.
  ~Pump() {
    const auto& usage = running_.answer.usage();
    ++context_.metrics.answers[outcome()];
    if (usage.first_token_seconds > 0) {
      context_.metrics.first_token_seconds.add(usage.first_token_seconds);
    }
    Json& line = connection_.log_fields();
    line["outcome"] = outcome();
    line["prompt_tokens"] = usage.prompt_tokens;
    if (!running_.answer.finished()) return;  // its tokens are not counted, its times unknown
    line["cached_tokens"] = usage.cached_tokens;
    line["completion_tokens"] = usage.completion_tokens;
    line.update(services::timings(usage));
  }

  /// @return frames; error() tells whether the answer has failed
  std::string take() {
    std::string out;
    for (const auto& event : running_.answer.poll()) {
      if (const auto* end = std::get_if<services::Finished>(&event.event)) {
        note_end(*end);
        if (!error_) error_ = error_of(*end);
      }
      if (!error_) out += running_.encoder.frames(event);
    }
    return out;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  static std::optional<Error> error_of(const services::Finished& end) {
    if (end.error) return end.error;
    if (end.reason == engine::FinishReason::cancelled) return stopped;
    if (end.reason == engine::FinishReason::error) {
      return Error{ErrorCode::internal, "generation failed", ""};
    }
    return std::nullopt;
  }

  std::string_view outcome() const {
    if (error_) return "error";
    if (!running_.answer.finished()) return "cancelled";
    return cut_off_ ? "length" : "stop";
  }

  void note_end(const services::Finished& end) {
    auto& metrics = context_.metrics;
    const auto& usage = end.usage;
    cut_off_ |= end.reason == engine::FinishReason::length;
    metrics.prompt_tokens += usage.prompt_tokens;
    metrics.cached_tokens += usage.cached_tokens;
    metrics.completion_tokens += usage.completion_tokens;
    metrics.reasoning_tokens += usage.reasoning_tokens;
    metrics.tool_calls += end.tool_calls;
    metrics.broken_tool_calls += end.broken_calls;
    if (usage.completion_tokens == 0) return;
    metrics.queue_seconds.add(usage.queue_seconds);
    metrics.prefill_seconds.add(usage.prefill_seconds);
    if (usage.completion_tokens > 1) {
      metrics.inter_token_seconds.add(usage.decode_seconds / (usage.completion_tokens - 1));
    }
  }

  Context& context_;
  Connection& connection_;
  const Running& running_;
  std::optional<Error> error_;
  bool cut_off_ = false;  // a choice ended for want of tokens
};

void wake_on_events(Connection& connection, services::Answer& answer) {
  answer.on_ready([wakeup = connection.wakeup().shared_from_this()] { wakeup->post(); });
}

Headers stream_headers() { return {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}; }

}  // namespace

asio::awaitable<void> stream_answer(Context& context, Connection& connection, Running running) {
  Pump pump(context, connection, running);
  wake_on_events(connection, running.answer);
  co_await connection.open_stream(200, running.stream_type, stream_headers());
  std::string out = running.encoder.begin(running.answer.echoes());
  while (!connection.gone()) {
    out += pump.take();
    const bool cut = context.cutting && !running.answer.finished();
    if (cut) ++context.cut;
    const auto error = cut ? std::optional(stopped) : pump.error();
    const bool done = error || running.answer.finished();
    if (error) out += running.encoder.failure(*error, running.answer.usage());
    if (done && !error && running.completed) running.completed();
    if (done && !error) out += running.encoder.end(running.answer.usage());
    co_await connection.write(out);
    out.clear();
    if (done) {
      running.answer.cancel();  // the other choices of one that failed
      co_await connection.end_stream();
      co_return;
    }
    const bool woken = co_await connection.wakeup().wait_for(context.options.limits.ping_interval);
    if (!woken) out = running.encoder.ping();
  }
  running.answer.cancel();
}

asio::awaitable<void> send_answer(Context& context, Connection& connection, Running running) {
  Pump pump(context, connection, running);
  wake_on_events(connection, running.answer);
  running.encoder.begin(running.answer.echoes());
  while (!connection.gone()) {
    pump.take();
    const bool cut = context.cutting && !running.answer.finished();
    if (cut) ++context.cut;
    if (const auto error = cut ? std::optional(stopped) : pump.error()) {
      running.answer.cancel();
      auto failed = error_reply(*error);
      failed.body = services::dump(running.error(*error));
      co_await connection.reply(std::move(failed));
      co_return;
    }
    if (running.answer.finished()) {
      if (running.completed) running.completed();
      const auto& usage = running.answer.usage();
      HttpReply reply = json_reply(200, running.encoder.body(usage));
      reply.headers.emplace_back("X-Hearth-Timings", services::dump(services::timings(usage)));
      co_await connection.reply(std::move(reply));
      co_return;
    }
    co_await connection.wakeup().wait_for(context.options.limits.ping_interval);
  }
  running.answer.cancel();
}

}  // namespace hearth::server
