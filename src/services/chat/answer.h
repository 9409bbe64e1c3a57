// Everything that one HTTP request asked for: n answers to each of its prompts, as one stream of
// events marked with the index of their choice.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "services/chat/generation.h"

namespace hearth::services {

struct ChoiceEvent {
  int choice;  // prompt * n + answer
  Event event;
};

class Answer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Templates, tokenises and submits all choices; none of them stays when one is refused.
  /// @param arrived  when the request did
  /// Errors: as Generation::start.
  static Result<std::unique_ptr<Answer>> start(std::shared_ptr<LoadedModel> model,
                                               const Request& request,
                                               const ServerDefaults& defaults,
                                               Clock::time_point arrived = Clock::now());

  /// Events that are ready, in order within each choice.
  std::vector<ChoiceEvent> poll();
  /// As Generation::on_ready, for every choice.
  void on_ready(const std::function<void()>& notify);
  void cancel();
  bool finished() const;

  /// Tokens of all prompts and choices; the rest of it once finished().
  const Usage& usage() const { return usage_; }
  /// Text of each choice's prompt; only for a request with `echo` whose tokens are not told.
  const std::vector<std::string>& echoes() const { return echoes_; }

 private:
  void add_up(int choice, const Usage& usage);

  std::vector<std::unique_ptr<Generation>> generations_;
  std::vector<double> submitted_after_;  // seconds from arrival, of each choice
  std::vector<std::string> echoes_;
  Usage usage_;
};

}  // namespace hearth::services
