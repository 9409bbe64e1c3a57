// help: the verbs, or one verb's flags.
#include <fmt/format.h>

#include <algorithm>

#include "cli/help.h"
#include "cli/nearest.h"
#include "cli/verbs.h"

namespace hearth::cli {
namespace {

class Help : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("verb", "the verb to explain", &verb_);
    Option reference = flag("--reference", &reference_, "every verb, as the reference page has it");
    reference.in_config = false;
    table.add(std::move(reference));
  }

  Result<int> run(Context& context) override {
    if (reference_) {
      context.terminal.out(reference(context.verbs));
      return exit_ok;
    }
    if (!verb_) {
      context.terminal.out(overview(context.verbs));
      return exit_ok;
    }
    const Verb* verb = find_verb(context.verbs, *verb_);
    if (verb == nullptr) {
      std::vector<std::string> names;
      for (const auto& known : context.verbs) names.emplace_back(known.name);
      return fail(ErrorCode::usage,
                  fmt::format("unknown verb {}{}", *verb_, did_you_mean(*verb_, names)));
    }
    context.terminal.out(verb_help(*verb, std::min(context.terminal.columns(), 100)));
    return exit_ok;
  }

 private:
  std::optional<std::string> verb_;
  bool reference_ = false;
};

}  // namespace

Verb help_verb() {
  return {.name = "help",
          .aliases = {},
          .summary = "What there is, or the flags of one verb",
          .usage = "[verb]",
          .notes = "",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Help>(); }};
}

}  // namespace hearth::cli
