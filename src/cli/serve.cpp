// serve: the HTTP server with the chat page. It answers /health at once; the model loads meanwhile.
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <future>
#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "cli/answer.h"
#include "cli/browser.h"
#include "cli/descriptors.h"
#include "cli/engine_options.h"
#include "cli/hangup.h"
#include "cli/model_argument.h"
#include "cli/sampling_options.h"
#include "cli/verbs.h"
#include "server/server.h"

namespace hearth::cli {
namespace {

struct NetworkOptions {
  std::string host = "127.0.0.1", api_key, served_name;
  int port = 8080;
  bool no_open = false, any_model = false;
  std::vector<std::string> origins;
  void declare(OptionTable& table);
};

void NetworkOptions::declare(OptionTable& table) {
  table.section("Network");
  table.add(text("--host", "ADDRESS", &host, "address to listen on; 0.0.0.0 for every one")
                .with_default("127.0.0.1"));
  table.add(whole("--port", "PORT", &port, 0, 65535, "port to listen on; 0 takes any free one")
                .with_default("8080"));
  table.add(flag("--no-open", &no_open, "open no browser"));
  table.add(text("--api-key", "KEY", &api_key, "what clients must send as their bearer token"))
      .env = "HEARTH_API_KEY";
  table.add(texts("--allowed-origins", "LIST", &origins,
                  "web pages that may call the API, separated by commas; * for all"));
  table.add(text("--served-name", "NAME", &served_name, "the model's id in the API")
                .with_default("the model's own"));
  table.add(flag("--any-model", &any_model,
                 "answer whatever `model` a request names; without it an unknown one is a 404"));
}

std::vector<std::string> split_commas(const std::vector<std::string>& lists) {
  std::vector<std::string> out;
  for (std::string_view list : lists) {
    while (!list.empty()) {
      const auto comma = std::min(list.find(','), list.size());
      auto word = list.substr(0, comma);
      while (word.starts_with(' ')) word.remove_prefix(1);
      while (word.ends_with(' ')) word.remove_suffix(1);
      if (!word.empty()) out.emplace_back(word);
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  return out;
}

/// HEARTH_SHUTDOWN_TIMEOUT_MS, if it is a finite number above 0.
std::optional<std::chrono::milliseconds> shutdown_limit(const Environment& environment) {
  const auto text = environment.get("HEARTH_SHUTDOWN_TIMEOUT_MS");
  if (!text) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  const bool whole = error == std::errc() && end == text->data() + text->size();
  if (!whole || !(value > 0 && value < 1e9)) {
    log::warn("HEARTH_SHUTDOWN_TIMEOUT_MS is '{}', expected milliseconds above 0; it is ignored",
              *text);
    return std::nullopt;
  }
  return std::chrono::milliseconds(static_cast<long>(value));
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "localhost" || host == "::1" || host == "[::1]";
}

class Serve : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("query", "the model", &model_.positional);
    table.section("Model");
    model_.declare(table);
    table.add(text("--chat-template", "FILE", &template_file_,
                   "a Jinja file in place of the model's template"));
    network_.declare(table);
    engine_.declare(table);
    declare_scheduling(table);
    table.section("Defaults of requests");
    declare_sampling(table, sampling_, {});
    table.add(on_off("--thinking", &thinking_, "let models think that can")
                  .with_default("the model's own"));
    declare_mlx_lm(table);
  }

  Result<void> check(const Context&) override {
    if (template_file_.empty()) return {};
    auto source = read_file(template_file_);
    if (!source)
      return fail(ErrorCode::usage, fmt::format("--chat-template: {}", source.error().message));
    template_ = std::move(*source);
    return {};
  }

  Result<int> run(Context& context) override {
    const auto choice = choose_model(model_, context);
    if (!choice) return fail(choice.error());
    const Hangup hangup([&context] {
      const auto models = open_registry(context).all().size();
      log::info("SIGHUP: {} models indexed", models);
    });
    raise_descriptor_limit();
    auto listening = server::Server::listen(server_options(context));
    if (!listening) return fail(listening.error());
    server::Server& server = **listening;
    server.stop_on_signals();
    if (!is_loopback(network_.host) && network_.api_key.empty() && !context.quiet) {
      context.terminal.warn(
          fmt::format("{} is reachable from other machines and asks for no key; "
                      "--api-key sets one",
                      network_.host));
    }
    return load_and_wait(context, *choice, server);
  }

 private:
  void declare_scheduling(OptionTable& table) {
    table.section("Scheduling");
    table.add(
        whole("--batch", "N", &batch_, 1, 1024, "answers generated together").with_default("8"));
    Option concurrency = whole("--decode-concurrency", "N", &concurrency_, 1, 1024,
                               "mlx-lm's name of --batch, which wins");
    concurrency.in_config = false;
    table.add(std::move(concurrency));
  }

  static void declare_mlx_lm(OptionTable& table) {
    table.add(tolerated("--trust-remote-code", ""));
    table.add(tolerated("--pipeline", ""));
    table.add(tolerated("--prefill-step-size", "N"));
    table.add(tolerated("--prompt-concurrency", "N"));
    table.add(tolerated("--use-default-chat-template", ""));
    table.add(refused("--min-p", "is a field of each request (min_p), not of the server"));
  }

  server::ServerOptions server_options(const Context& context) const {
    server::ServerOptions out;
    out.host = network_.host;
    out.port = network_.port;
    out.api_key = network_.api_key;
    out.allowed_origins = split_commas(network_.origins);
    out.served_name = network_.served_name;
    out.any_model = network_.any_model;
    out.defaults = {.temperature = sampling_.temperature,
                    .top_p = sampling_.top_p,
                    .top_k = sampling_.top_k,
                    .max_tokens = sampling_.max_tokens,
                    .thinking = thinking_,
                    .grammars = context.environment.get("HEARTH_GRAMMAR") != "0"};
    // Long enough for most answers, short enough for whoever waits for the program to end.
    out.shutdown_limit = shutdown_limit(context.environment).value_or(std::chrono::seconds(4));
    return out;
  }

  /// Loads on a thread of its own, so that a stop need not wait for it.
  Result<int> load_and_wait(Context& context, const ModelChoice& choice, server::Server& server) {
    std::atomic<bool> loaded = false;
    std::thread loader([&] {
      load(context, choice, server);
      loaded = true;
    });
    const auto ended = server.wait();
    const bool failed = !ended && ended.error().code != ErrorCode::cancelled;
    if (!loaded && !failed) std::_Exit(exit_ok);  // stopped meanwhile: the load is not awaited
    loader.join();
    if (failed) return fail(ended.error());
    if (!ended) context.terminal.warn(ended.error().message);  // streams that the stop cut
    return exit_ok;
  }

  void load(Context& context, const ModelChoice& choice, server::Server& server) const {
    auto options = engine_.options();
    options.max_rows = batch_.value_or(concurrency_.value_or(8));
    auto model =
        load_with_step(context.terminal, choice.path, choice.name, options, context.quiet, true);
    if (model) model = with_template(std::move(*model));
    if (!model) {
      server.fail(model.error());
      return;
    }
    server.set_model(*model);
    tell_ready(context, **model, options, server);
    if (!network_.no_open) open_browser(server.url() + "/", context.environment, context.terminal);
  }

  Result<std::shared_ptr<services::LoadedModel>> with_template(
      std::shared_ptr<services::LoadedModel> model) const {
    if (template_) {
      auto chat = text::ChatTemplate::from_source(*template_, model->tokenizer);
      if (!chat)
        return fail(chat.error().code, fmt::format("{}: {}", template_file_, chat.error().message));
      model->chat_template = std::move(*chat);
    }
    if (!model->chat_template) {
      return fail(no_template(*model, "--chat-template FILE gives it one"));
    }
    return model;
  }

  void tell_ready(const Context& context, const services::LoadedModel& model,
                  const engine::EngineOptions& options, const server::Server& server) const {
    if (context.quiet) return;
    Terminal& terminal = context.terminal;
    const auto& name = network_.served_name.empty() ? model.id : network_.served_name;
    terminal.note(fmt::format("Ready: {} on {}, tier {}, up to {} answers at a time",
                              terminal.paint_err(name, Style::bold), engine::backend().device,
                              engine_.l1 ? "l1" : "fast", options.max_rows));
    terminal.note(fmt::format("  chat  {}/", server.url()));
    terminal.note(fmt::format("  API   {}/v1", server.url()));
    terminal.note("  stop  Ctrl-C, or SIGTERM");
  }

  ModelArgument model_;
  NetworkOptions network_;
  EngineFlags engine_;
  SamplingOptions sampling_;
  std::string template_file_;
  std::optional<std::string> template_;
  std::optional<int> batch_, concurrency_;
  std::optional<bool> thinking_;
};

}  // namespace

Verb serve_verb() {
  return {.name = "serve",
          .aliases = {},
          .summary = "The HTTP API and the chat page; what hearth does without a verb",
          .usage = "[query] [flags]",
          .notes =
              "SIGINT or SIGTERM lets running answers end for a few seconds "
              "(HEARTH_SHUTDOWN_TIMEOUT_MS) and stops; a second one stops at once. SIGHUP "
              "indexes the models anew.",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Serve>(); }};
}

}  // namespace hearth::cli
