// generate: one completion, no server. stdout gets the text and a newline, nothing else.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <iterator>

#include "cli/answer.h"
#include "cli/engine_options.h"
#include "cli/model_argument.h"
#include "cli/sampling_options.h"
#include "cli/utf8.h"
#include "cli/verbs.h"

namespace hearth::cli {
namespace {

/// Standard input to its end, without the newline that `echo` adds.
std::string read_input() {
  std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

class Generate : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("query", "the model; left out with --model or --query", &first_);
    table.positional("prompt", "the prompt; - reads it from standard input", &second_);
    table.section("Model and prompt");
    model_.declare(table);
    Option prompt =
        text("-p,--prompt", "TEXT", &prompt_, "the prompt; - reads it from standard input");
    prompt.in_config = false;
    table.add(std::move(prompt));
    table.add(text("--system", "TEXT", &system_, "what the model is told before the prompt"));
    table.add(flag("--raw", &raw_, "no chat template: the model goes on from the prompt's text"));
    table.section("Answer");
    declare_sampling(table, sampling_, {.temperature = "0", .cutoff = "off", .max_tokens = "256"});
    declare_request_sampling(table, sampling_);
    table.add(texts("--stop", "TEXT", &stop_, "ends the answer before this text"));
    table.add(on_off("--stream", &stream_, "write while it is generated")
                  .with_default("on at a terminal, else off"));
    engine_.declare(table);
    table.add(refused("--ignore-chat-template", "is called --raw here"));
  }

  Result<void> check(const Context& context) override {
    sort_words();
    const bool from_input = prompt_ ? *prompt_ == "-" : !context.terminal.in_is_terminal();
    if (!prompt_ && !from_input) {
      return fail(ErrorCode::usage,
                  "no prompt: give --prompt TEXT, a second argument, or text on standard input");
    }
    if (from_input) prompt_ = read_input();
    if (prompt_->empty()) return fail(ErrorCode::usage, "the prompt is empty", "--prompt");
    for (const auto* text : {&*prompt_, system_ ? &*system_ : &*prompt_}) {
      if (const auto at = invalid_utf8(*text)) {
        return fail(ErrorCode::usage, fmt::format("the prompt is not UTF-8 text: byte {}", *at));
      }
    }
    if (raw_ && system_) {
      return fail(ErrorCode::usage, "--system needs the chat template that --raw leaves out",
                  "--system");
    }
    return {};
  }

  Result<int> run(Context& context) override {
    Interrupts interrupts;
    const auto choice = choose_model(model_, context);
    if (!choice) return fail(choice.error());
    auto model = load_with_step(context.terminal, choice->path, choice->name, engine_.options(),
                                context.quiet, context.verbose);
    if (!model) return fail(model.error());
    if (!raw_ && !(*model)->chat_template) {
      return fail(no_template(**model, "--raw goes on from the prompt's text without one"));
    }
    return answer(context, *model, interrupts);
  }

 private:
  /// With the model named by a flag, a lone word is the prompt.
  void sort_words() {
    model_.positional = first_;
    std::optional<std::string> word = second_;
    if ((model_.model || model_.query) && first_ && !second_) {
      word = first_;
      model_.positional.reset();
    }
    if (!prompt_) prompt_ = word;
  }

  services::Request request() const {
    services::Request request;
    request.sampling = fields(sampling_);
    if (!request.sampling.temperature) request.sampling.temperature = 0.0f;
    if (!request.sampling.top_p) request.sampling.top_p = 0.0f;
    if (!request.sampling.top_k) request.sampling.top_k = 0;
    if (!request.sampling.max_tokens) request.sampling.max_tokens = 256;
    for (const auto& text : stop_) {
      if (!text.empty()) request.stop.push_back(text);
    }
    if (raw_) {
      request.input = *prompt_;
      return request;
    }
    text::Conversation conversation;
    if (system_) conversation.messages.push_back({{"role", "system"}, {"content", *system_}});
    conversation.messages.push_back({{"role", "user"}, {"content", *prompt_}});
    request.input = std::move(conversation);
    return request;
  }

  Result<int> answer(Context& context, const std::shared_ptr<services::LoadedModel>& model,
                     Interrupts& interrupts) const {
    Terminal& terminal = context.terminal;
    const bool stream = stream_.value_or(terminal.out_is_terminal());
    bool open = true;  // somebody still reads
    const auto write = [&](std::string_view text) {
      open = open && terminal.out(terminal.out_is_terminal() ? printable(text) : std::string(text));
      return open;
    };
    const auto answer = run_answer(model, request(), interrupts, terminal,
                                   [&](std::string_view text) { return !stream || write(text); });
    if (!answer) return fail(answer.error());
    const bool whole = answer->reason != engine::FinishReason::cancelled;
    if (open && !stream && whole) write(answer->text);
    if (open && (stream || whole)) write("\n");
    if (context.verbose) terminal.note(stats_line(answer->usage));
    return interrupts.last() != 0 ? 128 + interrupts.last() : exit_ok;
  }

  ModelArgument model_;
  EngineFlags engine_;
  SamplingOptions sampling_;
  std::optional<std::string> first_, second_, prompt_, system_;
  std::vector<std::string> stop_;
  std::optional<bool> stream_;
  bool raw_ = false;
};

}  // namespace

Verb generate_verb() {
  return {.name = "generate",
          .aliases = {"gen"},
          .summary = "One completion, without a server",
          .usage = "[query] [prompt] [flags]",
          .notes =
              "Writes the text and a newline to standard output. The prompt comes from --prompt, "
              "from the second argument (the first one, when --model names the model), or from "
              "standard input. Without sampling flags the answer is greedy.",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Generate>(); }};
}

}  // namespace hearth::cli
