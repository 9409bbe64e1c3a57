// harness: connects the user's own pi for good; tells how to connect other clients.
#include <fmt/format.h>

#include "base/file.h"
#include "cli/launch/advice.h"
#include "cli/launch/run_client.h"
#include "cli/launch/served.h"
#include "cli/launch/setup.h"
#include "cli/verbs.h"

namespace hearth::cli {
namespace {

class Harness : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("client", fmt::format("one of {}", fmt::join(client_names(false), ", ")),
                     &name_);
    table.add(text("--base-url", "URL", &base_url_, "the server that the client shall ask"))
        .fallback = "http://127.0.0.1:8080/v1";
    table.add(text("--api-key", "KEY", &api_key_, "what the server asks for")).env =
        "HEARTH_API_KEY";
    table.add(flag("--remove", &remove_, "pi: delete the extension")).in_config = false;
    table.add(flag("--force", &force_, "pi: also where the file is not hearth's, or was edited"))
        .in_config = false;
  }

  Result<void> check(const Context&) override {
    auto client = client_named(name_, false);
    if (!client) return fail(client.error());
    client_ = *client;
    if (remove_ && client_->name != "pi") {
      return fail(ErrorCode::usage,
                  fmt::format("harness writes nothing for {}, so there is nothing to remove; "
                              "`hearth launch {} --remove` undoes --config-only",
                              client_->name, client_->name),
                  "--remove");
    }
    auto base = parse_base_url(base_url_.value_or("http://127.0.0.1:8080/v1"));
    if (!base) return fail(base.error());
    base_ = std::move(*base);
    return {};
  }

  Result<int> run(Context& context) override {
    if (remove_) return remove(context);
    Target target{.base_url = base_.url};
    if (!api_key_.empty()) target.api_key = api_key_;
    if (auto served = ask_served(base_, api_key_, std::chrono::seconds(2))) target = *served;
    if (client_->name == "pi") return write(context, target);
    context.terminal.out(shell_lines(*client_, target));
    return exit_ok;
  }

 private:
  Result<int> write(Context& context, const Target& target) const {
    if (!on_path(client_->program, context.environment)) {
      return fail(ErrorCode::not_found,
                  fmt::format("pi is not on PATH; install it with: {}", client_->install));
    }
    const auto file = client_->config(target, context.environment);
    const auto done = Setup(context.folders.state, client_->name).write(file, force_);
    if (!done) return fail(done.error());
    if (!context.quiet) {
      context.terminal.note(fmt::format("{} makes hearth a provider of pi", file.path.string()));
      context.terminal.note(fmt::format("  start  {}", client_->then));
      context.terminal.note("  undo   hearth harness pi --remove");
    }
    return exit_ok;
  }

  Result<int> remove(Context& context) const {
    const auto file = client_->config(Target{}, context.environment);
    const auto done = Setup(context.folders.state, client_->name).remove(file, force_);
    if (!done) return fail(done.error());
    const bool nothing = *done == Setup::Removed::nothing;
    if (!context.quiet) {
      context.terminal.note(fmt::format(
          "{}{}", nothing ? "nothing to remove: there is no " : "removed ", file.path.string()));
    }
    return exit_ok;
  }

  std::optional<std::string> name_, base_url_;
  std::string api_key_;
  bool remove_ = false, force_ = false;
  const Client* client_ = nullptr;
  BaseUrl base_;
};

}  // namespace

Verb harness_verb() {
  return {.name = "harness",
          .aliases = {},
          .summary = "Connect your own pi; print what connects other clients",
          .usage = "<client> [flags]",
          .notes =
              "For pi it writes one extension file, which makes hearth a provider with the model "
              "hearth/local, whatever is served at the time. For the other clients it prints the "
              "environment and the command and writes nothing.",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Harness>(); }};
}

}  // namespace hearth::cli
