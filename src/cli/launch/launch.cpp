// launch: a coding agent against the local server, which is started where none runs.
#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "cli/launch/advice.h"
#include "cli/launch/edit.h"
#include "cli/launch/run_client.h"
#include "cli/launch/served.h"
#include "cli/launch/setup.h"
#include "cli/step.h"
#include "cli/verbs.h"

namespace hearth::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The last lines of a log.
std::string tail(const fs::path& file) {
  const auto text = read_file(file);
  if (!text) return {};
  std::string_view rest = *text;
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  std::size_t at = rest.size();
  for (int lines = 0; lines < 5 && at != rest.npos && at > 0; ++lines)
    at = rest.rfind('\n', at - 1);
  return std::string(at == rest.npos ? rest : rest.substr(at));
}

class Launch : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("client", fmt::format("one of {}", fmt::join(client_names(true), ", ")),
                     &name_);
    table.section("Server");
    table.add(text("--base-url", "URL", &base_url_, "the server; one is started where none runs"))
        .fallback = "http://127.0.0.1:8080";
    table.add(text("--model", "MODEL", &model_, "what a server that is started serves")).fallback =
        "as serve picks";
    table.add(text("--api-key", "KEY", &api_key_, "what the server asks for")).env =
        "HEARTH_API_KEY";
    table.section("Set-up");
    mode(table, "--config-only", &config_only_,
         "set the client up for good in its own file, and start nothing");
    mode(table, "--print", &print_,
         "show the environment, the command and the file; write and start nothing");
    mode(table, "--remove", &remove_, "undo --config-only: the file is again as it was");
    mode(table, "--force", &force_, "also where the file was edited since, or is not hearth's");
  }

  Result<void> check(const Context& context) override {
    auto client = client_named(name_, true);
    if (!client) return fail(client.error());
    client_ = *client;
    auto base = parse_base_url(base_url_.value_or("http://127.0.0.1:8080"));
    if (!base) return fail(base.error());
    base_ = std::move(*base);
    if (config_only_ + print_ + remove_ > 1) {
      return fail(ErrorCode::usage, "--config-only, --print and --remove exclude each other");
    }
    const bool runs = !config_only_ && !print_ && !remove_;
    if (!runs && !context.words.empty()) {
      return fail(ErrorCode::usage, fmt::format("'{}' would go to {}, which is not started",
                                                context.words.front(), client_->title));
    }
    return {};
  }

  Result<int> run(Context& context) override {
    if (remove_) return remove(context);
    if (print_) return print(context);
    const auto program = on_path(client_->program, context.environment);
    if (!program) {
      return fail(ErrorCode::not_found, fmt::format("{} is not on PATH; install it with: {}",
                                                    client_->program, client_->install));
    }
    return config_only_ ? configure(context) : start(context, *program);
  }

 private:
  static void mode(OptionTable& table, const char* name, bool* field, const char* help) {
    table.add(flag(name, field, help)).in_config = false;
  }

  /// The server that answers there, else what is true of any.
  Target target() const {
    if (auto served = ask_served(base_, api_key_, seconds(2))) return *served;
    Target out{.base_url = base_.url};
    if (!api_key_.empty()) out.api_key = api_key_;
    return out;
  }

  Result<int> print(Context& context) const {
    const auto target = this->target();
    std::string out = shell_lines(*client_, target);
    const auto file = client_->config(target, context.environment);
    const auto before = read_file(file.path);
    const auto text = with_settings(file, before ? std::optional(*before) : std::nullopt);
    if (!text) return fail(text.error().code, file.path.string() + ": " + text.error().message);
    out += fmt::format("\n# {}, with --config-only:\n{}", file.path.string(), *text);
    context.terminal.out(out);
    return exit_ok;
  }

  Result<int> configure(Context& context) const {
    const auto target = this->target();
    const auto file = client_->config(target, context.environment);
    const auto done = Setup(context.folders.state, client_->name).write(file, force_);
    if (!done) return fail(done.error());
    if (!context.quiet) {
      context.terminal.note(fmt::format("{} now asks {} (in {})", client_->title, target.base_url,
                                        file.path.string()));
      context.terminal.note(
          fmt::format("  start  {}", client_->then.empty() ? client_->program : client_->then));
      context.terminal.note(fmt::format("  undo   hearth launch {} --remove", client_->name));
    }
    return exit_ok;
  }

  Result<int> remove(Context& context) const {
    const auto file = client_->config(Target{}, context.environment);
    const auto done = Setup(context.folders.state, client_->name).remove(file, force_);
    if (!done) return fail(done.error());
    using Removed = Setup::Removed;
    const char* told = *done == Removed::restored    ? "is as it was"
                       : *done == Removed::deleted   ? "is deleted"
                       : *done == Removed::taken_out ? "is without hearth's settings"
                                                     : "has nothing to remove";
    if (!context.quiet) context.terminal.note(fmt::format("{} {}", file.path.string(), told));
    return exit_ok;
  }

  Result<int> start(Context& context, const fs::path& program) const {
    std::optional<Companion> companion;
    auto target = ask_served(base_, api_key_, seconds(2));
    if (!target && target.error().code == ErrorCode::overloaded) {
      Step step(context.terminal, base_.url + " still loads its model",
                context.quiet ? Steps::hidden : Steps::shown);
      target = ask_served(base_, api_key_, seconds(600));
      if (target) step.done(fmt::format("{} serves {}", base_.url, target->model));
    }
    if (!target && target.error().code == ErrorCode::not_found && base_.on_this_machine()) {
      auto started = start_server(context);
      if (!started) return fail(started.error());
      companion.emplace(std::move(*started));
      target = wait_for(context, *companion);
    } else if (target && model_ && !context.quiet) {
      context.terminal.note(fmt::format("{} serves {}; --model is for a server that is started",
                                        base_.url, target->model));
    }
    if (!target) return fail(target.error());
    auto arguments =
        client_->arguments != nullptr ? client_->arguments(*target) : std::vector<std::string>();
    if (client_->name == "pi") {
      auto extended = with_extension(context, *target, arguments);
      if (!extended) return fail(extended.error());
    }
    arguments.insert(arguments.end(), context.words.begin(), context.words.end());
    return run_client(program, arguments, client_->environment(*target));
  }

  /// pi takes a provider as an extension: that of this user, else one of ours for this run.
  Result<void> with_extension(const Context& context, const Target& target,
                              std::vector<std::string>& arguments) const {
    const auto installed = read_file(pi_extension_path(context.environment));
    if (installed && is_ours(*installed)) return {};
    const auto file = context.folders.state / "pi" / "hearth-provider.ts";
    if (auto made = make_private_folder(file.parent_path()); !made) return made;
    if (auto done = write_file(file, pi_extension(target)); !done) return done;
    arguments.insert(arguments.begin(), {"-e", file.string()});
    return {};
  }

  fs::path log_file(const Context& context) const {
    return context.folders.state / "logs" / "launch-server.log";
  }

  Result<Companion> start_server(const Context& context) const {
    std::vector<std::string> command{own_program().string(),
                                     "serve",
                                     "--no-open",
                                     "--any-model",
                                     "--host",
                                     base_.host,
                                     "--port",
                                     base_.port};
    if (model_) command.insert(command.end(), {"--model", *model_});
    Variables variables;
    if (!api_key_.empty()) variables.emplace_back("HEARTH_API_KEY", api_key_);
    const auto log = log_file(context);
    if (auto made = make_private_folder(log.parent_path()); !made) return fail(made.error());
    return Companion::start(command, variables, log);
  }

  Result<Target> wait_for(Context& context, Companion& companion) const {
    Step step(context.terminal, "Starting a server at " + base_.url,
              context.quiet ? Steps::hidden : Steps::shown);
    for (;;) {
      auto served = ask_served(base_, api_key_, seconds(1));
      if (served) {
        step.done(
            fmt::format("{} serves {} until {} ends", base_.url, served->model, client_->title));
        return served;
      }
      if (served.error().code == ErrorCode::unauthorized) return served;
      if (companion.ended()) {
        return fail(ErrorCode::io,
                    fmt::format("the server did not start; {} ends in:\n{}",
                                log_file(context).string(), tail(log_file(context))));
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
  }

  std::optional<std::string> name_, base_url_, model_;
  std::string api_key_;
  bool config_only_ = false, print_ = false, remove_ = false, force_ = false;
  const Client* client_ = nullptr;
  BaseUrl base_;
};

}  // namespace

Verb launch_verb() {
  return {.name = "launch",
          .aliases = {},
          .summary = "A coding agent on the local model: claude, codex, opencode, aider or pi",
          .usage = "<client> [flags] [-- arguments of the client]",
          .notes =
              "Starts the client with the environment and arguments that point it at the server, "
              "and writes nothing of its own. Where no server answers, one is started that lives "
              "as long as the client.\n\n"
              "--config-only writes the client's own file instead, so that the client finds the "
              "server whenever it is started: ~/.claude/settings.json, ~/.codex/hearth.config.toml "
              "(codex --profile hearth), ~/.config/opencode/opencode.json, ~/.aider.conf.yml, or "
              "an extension of pi. What else stands there stays, comments too; --remove brings "
              "the file back byte for byte.",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Launch>(); },
          .takes_words = true};
}

}  // namespace hearth::cli
