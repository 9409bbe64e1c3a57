// One request from start to end, as generate and chat run it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/interrupts.h"
#include "cli/terminal.h"
#include "services/chat/event.h"
#include "services/chat/request.h"
#include "services/model.h"

namespace hearth::cli {

struct Answer {
  std::string text;
  engine::FinishReason reason = engine::FinishReason::stop;
  engine::Usage usage;
};

/// Takes a piece of text; false when nobody reads any more, which cancels the answer.
using Sink = std::function<bool(std::string_view)>;

/// Runs a request. SIGINT or SIGTERM cancels it; then `reason` is cancelled. Reasoning goes dim to
/// stderr where that is a terminal; an answer that was cut before it began is warned of.
/// Errors: those of Generation::start, and the engine's own while it runs.
Result<Answer> run_answer(const std::shared_ptr<services::LoadedModel>& model,
                          const services::Request& request, Interrupts& interrupts,
                          Terminal& terminal, const Sink& sink);

/// "512 prompt tokens in 1.20 s (426.7/s), 64 tokens in 1.42 s (44.4/s), first after 1.21 s".
std::string stats_line(const engine::Usage& usage);

/// Loads a model with a step on stderr that names it.
Result<std::shared_ptr<services::LoadedModel>> load_with_step(Terminal& terminal,
                                                              const std::filesystem::path& path,
                                                              const std::string& name,
                                                              const engine::EngineOptions& options,
                                                              bool quiet, bool always_tell);

/// What a model without a chat template says, and what to do.
Error no_template(const services::LoadedModel& model, std::string_view instead);

}  // namespace hearth::cli
