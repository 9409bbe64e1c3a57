// What a request's thread reads: the prompt's scores if they were asked for, tokens as they are
// sampled, then exactly one Finish.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "base/error.h"
#include "engine/sampling.h"

namespace hearth::engine {

enum class FinishReason {
  stop,       // a stop id, or the reader said stop()
  length,     // max_tokens or the context is full
  cancelled,  // the reader went away
  error,
};

struct Usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;
  int completion_tokens = 0;   // tokens delivered; a stop id counts, as in mlx-lm
  double queue_seconds = 0;    // from submission until admission
  double prefill_seconds = 0;  // from admission until the first token
  double decode_seconds = 0;   // from the first token to the last
};

struct Finish {
  FinishReason reason = FinishReason::stop;
  Usage usage;
  std::optional<Error> error;
  std::optional<TokenId> stop_id;  // the id that ended the turn; it was not delivered
};

/// The log-probability of each token of the prompt after those before it. Comes before any Sampled.
struct ScoredPrompt {
  std::vector<Sampled> tokens;  // the first, which follows nothing, has NaN and no rivals
};

using StreamItem = std::variant<Sampled, ScoredPrompt, Finish>;

/// A bounded queue from the engine thread to one reader. The engine never waits: a reader that
/// lets `capacity` tokens pile up is cancelled.
class TokenStream {
 public:
  static constexpr std::size_t usual_capacity = 8192;
  explicit TokenStream(std::size_t capacity = usual_capacity) : capacity_(capacity) {}

  // --- reader
  /// Next item without waiting; none when there is nothing yet.
  std::optional<StreamItem> try_pop();
  /// Waits for the next item. Do not call after Finish.
  StreamItem pop();
  /// `notify` runs on the engine thread whenever an item arrives; keep it short. At once if one
  /// waits.
  void on_ready(std::function<void()> notify);
  /// The engine drops the row before its next step or chunk; a Finish still arrives.
  void cancel() { stop_.request_stop(); }
  /// As cancel(), and the reader has its whole answer.
  void stop() {
    satisfied_ = true;
    cancel();
  }

  // --- engine
  bool cancelled() const { return stop_.stop_requested(); }
  bool satisfied() const { return satisfied_; }
  void push(StreamItem item);

 private:
  const std::size_t capacity_;
  std::stop_source stop_;
  std::atomic<bool> satisfied_{false};
  mutable std::mutex mutex_;  // guards items_ and notify_
  std::condition_variable ready_;
  std::deque<StreamItem> items_;
  std::function<void()> notify_;
};

}  // namespace hearth::engine
