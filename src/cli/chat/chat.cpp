// chat: a conversation with a model at the terminal.
#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>

#include "cli/answer.h"
#include "cli/cache_options.h"
#include "cli/chat/repl.h"
#include "cli/engine_options.h"
#include "cli/model_argument.h"
#include "cli/sampling_options.h"
#include "cli/verbs.h"

namespace hearth::cli {
namespace {

class Chat : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("query", "the model", &model_.positional);
    table.section("Model");
    model_.declare(table);
    table.add(text("--system", "TEXT", &system_, "what the model is told before the conversation"));
    table.section("Answers");
    declare_sampling(table, sampling_, {});
    declare_request_sampling(table, sampling_);
    engine_.declare(table);
    cache_.declare(table, CacheFlags::Tiers::memory);
  }

  Result<int> run(Context& context) override {
    Interrupts interrupts;
    const auto choice = choose_model(model_, context);
    if (!choice) return fail(choice.error());
    auto options = engine_.options();
    cache_.apply(options);
    auto model = load_with_step(context.terminal, choice->path, choice->name, options,
                                context.quiet, context.terminal.in_is_terminal());
    if (!model) return fail(model.error());
    if (!(*model)->chat_template) {
      return fail(no_template(**model, "`hearth generate --raw` goes on from plain text"));
    }
    const auto editor = LineEditor::make(context.terminal, context.folders.state / "chat_history");
    Repl repl(context.terminal, *editor,
              [&](const Json& messages) { return answer(context, *model, interrupts, messages); },
              {.model = (*model)->id, .sessions = context.folders.state / "sessions"});
    repl.session().set_system(system_);
    if (context.terminal.in_is_terminal() && !context.quiet) {
      context.terminal.note("Ask away; /help lists the commands, Ctrl-D leaves.");
    }
    if (context.terminal.in_is_terminal()) interrupts.survive_interrupts();
    const int failed = repl.run();
    if (context.terminal.in_is_terminal()) return exit_ok;
    return failed > 0 ? exit_failed : exit_ok;
  }

 private:
  Result<std::string> answer(Context& context, const std::shared_ptr<services::LoadedModel>& model,
                             Interrupts& interrupts, const Json& messages) const {
    Terminal& terminal = context.terminal;
    services::Request request;
    request.sampling = fields(sampling_);
    text::Conversation conversation;
    conversation.messages = messages;
    request.input = std::move(conversation);
    interrupts.reset();
    bool open = true;
    const auto answered =
        run_answer(model, request, interrupts, terminal, [&](std::string_view text) {
          open = terminal.out(terminal.out_is_terminal() ? printable(text) : std::string(text));
          return open;
        });
    if (!answered) return fail(answered.error());
    if (!open) std::_Exit(exit_ok);  // nobody reads any more
    terminal.out("\n");
    if (interrupts.last() == SIGTERM) std::_Exit(128 + SIGTERM);
    if (interrupts.last() == SIGINT && !terminal.in_is_terminal()) std::_Exit(exit_interrupted);
    if (context.verbose) terminal.note(stats_line(answered->usage));
    if (answered->reason == engine::FinishReason::cancelled && answered->text.empty()) {
      return fail(ErrorCode::cancelled, "stopped");
    }
    return answered->text;
  }

  ModelArgument model_;
  EngineFlags engine_;
  CacheFlags cache_;
  SamplingOptions sampling_;
  std::string system_;
};

}  // namespace

Verb chat_verb() {
  return {.name = "chat",
          .aliases = {},
          .summary = "A conversation at the terminal",
          .usage = "[query] [flags]",
          .notes =
              "At a terminal, lines are edited and remembered, and /help lists the commands. "
              "Otherwise every line of standard input is a message.",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Chat>(); }};
}

}  // namespace hearth::cli
