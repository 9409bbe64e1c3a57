// embed: texts to vectors, no server. stdout gets one JSON array a text, or one object.
#include <fmt/format.h>

#include <iostream>

#include "cli/answer.h"
#include "cli/engine_options.h"
#include "cli/model_argument.h"
#include "cli/verbs.h"
#include "services/embedding/wire.h"

namespace hearth::cli {
namespace {

class Embed : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("query", "the model; left out with --model or --query", &first_);
    table.positional("text", "the text; without one every line of standard input is one", &second_);
    table.section("Model and texts");
    model_.declare(table);
    Option text_option = texts("--text", "TEXT", &texts_, "a text to embed");
    text_option.in_config = false;
    table.add(std::move(text_option));
    table.add(text("--instruct", "TEXT", &instruction_,
                   "what a query is for, as Qwen3-Embedding wants to be told"));
    table.add(text("--prompt-name", "NAME", &prompt_name_, "a prompt of the model's own: query"));
    table.section("Answer");
    table.add(flag("--truncate", &truncate_, "cut what is too long instead of failing"));
    table.add(flag("--json", &json_, "one OpenAI list instead of an array a line"));
    engine_.declare(table);
  }

  Result<void> check(const Context& context) override {
    model_.positional = first_;
    std::optional<std::string> word = second_;
    if ((model_.model || model_.query) && first_ && !second_) {
      word = first_;
      model_.positional.reset();
    }
    if (word) texts_.push_back(*word);
    if (texts_.empty() && context.terminal.in_is_terminal()) {
      return fail(ErrorCode::usage,
                  "no text: give --text TEXT, a second argument, or lines on standard input");
    }
    if (texts_.empty()) read_lines();
    if (texts_.empty()) return fail(ErrorCode::usage, "standard input has no text");
    return {};
  }

  Result<int> run(Context& context) override {
    const auto choice = choose_embedder(model_, context);
    if (!choice) return fail(choice.error());
    auto model = load_with_step(context.terminal, choice->path, choice->name, engine_.options(),
                                context.quiet, context.verbose);
    if (!model) return fail(model.error());
    services::Embeddings all;
    for (std::size_t at = 0; at < texts_.size();) {
      services::EmbeddingRequest request{.inputs = {},
                                         .instruction = instruction_,
                                         .prompt_name = prompt_name_,
                                         .dimensions = {},
                                         .truncate = truncate_};
      for (; at < texts_.size() && request.inputs.size() < request.most_inputs; ++at) {
        request.inputs.emplace_back(texts_[at]);
      }
      auto some = services::embed(**model, request);
      if (!some) return fail(some.error());
      all.tokens += some->tokens;
      for (auto& vector : some->vectors) all.vectors.push_back(std::move(vector));
    }
    print(context.terminal, all, (*model)->id);
    return exit_ok;
  }

 private:
  void read_lines() {
    for (std::string line; std::getline(std::cin, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) texts_.push_back(line);
    }
  }

  void print(Terminal& terminal, const services::Embeddings& all, const std::string& model) const {
    if (json_) {
      terminal.out(services::embeddings_reply(all, model, /*base64=*/false).dump() + "\n");
      return;
    }
    for (const auto& vector : all.vectors) {
      if (!terminal.out(Json(vector).dump() + "\n")) return;
    }
  }

  ModelArgument model_;
  EngineFlags engine_;
  std::optional<std::string> first_, second_, instruction_, prompt_name_;
  std::vector<std::string> texts_;
  bool json_ = false, truncate_ = false;
};

}  // namespace

Verb embed_verb() {
  return {.name = "embed",
          .summary = "Texts to vectors, without a server",
          .usage = "[query] [text] [flags]",
          .notes =
              "Writes one JSON array a text to standard output. Texts come from --text, from the "
              "second argument (the first one, when --model names the model), or from the lines of "
              "standard input. Pooling, prompts and the longest text are those of the model's own "
              "files.",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Embed>(); }};
}

}  // namespace hearth::cli
