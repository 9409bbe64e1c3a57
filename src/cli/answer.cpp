#include "cli/answer.h"

#include <fmt/format.h>

#include "cli/step.h"
#include "services/chat/generation.h"

namespace hearth::cli {
namespace {

double rate(int tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0; }

}  // namespace

Result<Answer> run_answer(const std::shared_ptr<services::LoadedModel>& model,
                          const services::Request& request, Interrupts& interrupts,
                          Terminal& terminal, const Sink& sink) {
  auto started = services::Generation::start(model, request);
  if (!started) return fail(started.error());
  const auto generation = std::move(*started);
  interrupts.on_signal([&] { generation->cancel(); });
  Answer answer;
  std::optional<Error> error;
  bool thinking = false;
  while (!generation->finished()) {
    for (const auto& event : generation->next()) {
      if (const auto* delta = std::get_if<services::TextDelta>(&event)) {
        if (thinking && !delta->text.empty() && terminal.err_is_terminal()) terminal.err("\n\n");
        thinking = thinking && delta->text.empty();
        answer.text += delta->text;
        if (!delta->text.empty() && !sink(delta->text)) generation->cancel();
      } else if (const auto* reasoning = std::get_if<services::ReasoningDelta>(&event)) {
        thinking = thinking || !reasoning->text.empty();
        if (terminal.err_is_terminal()) {
          terminal.err(terminal.paint_err(printable(reasoning->text), Style::dim));
        }
      } else if (const auto* finished = std::get_if<services::Finished>(&event)) {
        answer.reason = finished->reason;
        answer.usage = finished->usage;
        error = finished->error;
      }
    }
  }
  interrupts.on_signal({});
  if (error) return fail(*error);
  if (thinking && terminal.err_is_terminal()) terminal.err("\n");
  if (answer.text.empty() && thinking && answer.reason == engine::FinishReason::length) {
    terminal.warn(
        "the model was still thinking when the limit of tokens was reached; "
        "raise --max-tokens");
  }
  return answer;
}

std::string stats_line(const engine::Usage& usage) {
  const int decoded = usage.completion_tokens - 1;  // the first one belongs to the prefill
  return fmt::format("{} prompt tokens in {:.2f} s ({:.1f}/s), {} tokens in {:.2f} s ({:.1f}/s)",
                     usage.prompt_tokens, usage.prefill_seconds,
                     rate(usage.prompt_tokens, usage.prefill_seconds), usage.completion_tokens,
                     usage.prefill_seconds + usage.decode_seconds,
                     rate(decoded, usage.decode_seconds));
}

Result<std::shared_ptr<services::LoadedModel>> load_with_step(Terminal& terminal,
                                                              const std::filesystem::path& path,
                                                              const std::string& name,
                                                              const engine::EngineOptions& options,
                                                              bool quiet, bool always_tell) {
  const Steps steps = quiet ? Steps::hidden : always_tell ? Steps::shown : Steps::at_terminal_only;
  Step step(terminal, fmt::format("Loading {}", name), steps);
  auto model = services::load_model(path, options);
  if (!model) return model;
  const auto& info = (*model)->engine->info();
  step.done(fmt::format("Loaded {} in {:.2f} s: {}, {}, {:.2f} GB of weights", name, step.seconds(),
                        info.model_type, info.quantization,
                        static_cast<double>(info.weight_bytes) / 1e9));
  return model;
}

Error no_template(const services::LoadedModel& model, std::string_view instead) {
  return {
      ErrorCode::not_found,
      fmt::format("{} has no chat template ({}); {}", model.id, model.no_template_reason, instead),
      ""};
}

}  // namespace hearth::cli
