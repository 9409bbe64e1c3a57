// One answer while it runs: tokens from the engine to text events, on the request's own thread.
// The pipeline is detokenise, reasoning, tool calls, stop strings, with one hold-back: no part of a
// stop string or of markup and no half character ever leaves it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "services/chat/event.h"
#include "services/chat/request.h"
#include "services/model.h"

namespace hearth::services {

class Generation {
 public:
  /// Templates, tokenises and submits the request's first prompt.
  /// Errors: invalid_request (template, ranges), context_overflow, overloaded.
  static Result<std::unique_ptr<Generation>> start(std::shared_ptr<LoadedModel> model,
                                                   const Request& request,
                                                   const ServerDefaults& defaults = {});

  /// Submits a prompt that is ready.
  /// @param prompt  token ids of `input`, one of the request's
  /// @param choice  added to the request's seed, if it has one
  static Result<std::unique_ptr<Generation>> submit(std::shared_ptr<LoadedModel> model,
                                                    std::vector<text::TokenId> prompt,
                                                    const Input& input, const Request& request,
                                                    const ServerDefaults& defaults, int choice);
  ~Generation();  // cancels if it still runs

  /// Events that are ready; empty when none are. The last one ever is Finished.
  std::vector<Event> poll();
  /// Waits until there is at least one event. Not after Finished.
  std::vector<Event> next();
  /// Runs `notify` on the engine's thread when poll() has something new; at once if it has now.
  /// It must not call this object. After on_ready({}) no earlier one runs.
  void on_ready(std::function<void()> notify);
  void cancel();
  bool finished() const;
  int prompt_tokens() const;

 private:
  struct Impl;
  explicit Generation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The prompt's token ids, as start() would submit them.
Result<std::vector<text::TokenId>> prompt_ids(const LoadedModel& model, const Request& request,
                                              const ServerDefaults& defaults = {});

}  // namespace hearth::services
