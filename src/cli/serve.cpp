// serve: the HTTP server with the chat page. It answers /health at once; the model loads meanwhile.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>

#include "base/log.h"
#include "cli/answer.h"
#include "cli/browser.h"
#include "cli/cache_options.h"
#include "cli/descriptors.h"
#include "cli/engine_options.h"
#include "cli/hangup.h"
#include "cli/memory.h"
#include "cli/model_argument.h"
#include "cli/model_list.h"
#include "cli/sampling_options.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "cli/worker_process.h"
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
    pool_.declare(table);
    engine_.declare(table);
    declare_scheduling(table);
    cache_.declare(table, CacheFlags::Tiers::memory_and_files);
    table.section("Defaults of requests");
    declare_sampling(table, sampling_, {});
    table.add(on_off("--thinking", &thinking_, "let models think that can")
                  .with_default("the model's own"));
    declare_mlx_lm(table);
  }

  Result<void> check(const Context&) override {
    if (auto cache = cache_.check(); !cache) return cache;
    if (template_file_.empty()) return {};
    auto common = read_template(template_file_);
    if (!common) return fail(common.error());
    template_ = std::move(*common);
    return {};
  }

  Result<int> run(Context& context) override {
    if (pool_.swaps()) keep_one_heap();
    const auto choice = choose_model(model_, context);
    if (!choice) return fail(choice.error());
    const ServedModelsOptions wanted{.first = *choice,
                                     .served_name = network_.served_name,
                                     .defaults = defaults(context),
                                     .context = context_,
                                     .prompt_cache = cache_.memory(),
                                     .memory_budget = bytes_of(memory_budget_)};
    const Hangup hangup([&] { look_again(wanted, context); });
    raise_descriptor_limit();
    if (auto known = models_.look(wanted, pool_, template_, context); !known) {
      return fail(known.error());
    }
    auto listening = server::Server::listen(server_options(context));
    if (!listening) return fail(listening.error());
    server::Server& server = **listening;
    if (is_worker()) end_with_parent();
    server.stop_on_signals();
    if (!is_loopback(network_.host) && network_.api_key.empty() && !context.quiet) {
      context.terminal.warn(
          fmt::format("{} is reachable from other machines and asks for no key; "
                      "--api-key sets one",
                      network_.host));
    }
    const Refreshed refreshed(*this, server);
    return load_and_wait(context, server);
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
    table.add(whole("--context", "N", &context_, 2, 1 << 30,
                    "most tokens of a prompt and its answer together")
                  .with_default("the model's own context"));
    constexpr float most_gb = 1e6;
    table.add(
        real("--memory-budget", "GB", &memory_budget_, 0, most_gb,
             "most memory for the weights of all loaded models and one answer's context beside "
             "them, in decimal GB; 0 for no budget"));
    table.add(real("--kv-budget", "GB", &kv_budget_, 0, most_gb,
                   "most that the caches of all running answers of a model may come to, in decimal "
                   "GB; requests must then say max_tokens"));
  }

  static std::size_t bytes_of(const std::optional<float>& gigabytes) {
    return std::size_t(double(gigabytes.value_or(0)) * 1e9);
  }

  engine::EngineOptions engine_options(const Context& context) const {
    auto options = engine_.options();
    options.max_rows = batch_.value_or(concurrency_.value_or(8));
    options.memory_budget = bytes_of(memory_budget_);
    options.context = context_.value_or(0);
    options.kv_budget = bytes_of(kv_budget_);
    options.attempt_overflow = context.environment.get("HEARTH_CONTEXT_OVERFLOW") == "attempt";
    return options;
  }

  static void declare_mlx_lm(OptionTable& table) {
    table.add(tolerated("--trust-remote-code", ""));
    table.add(tolerated("--pipeline", ""));
    table.add(tolerated("--prefill-step-size", "N"));
    table.add(tolerated("--prompt-concurrency", "N"));
    table.add(tolerated("--use-default-chat-template", ""));
    table.add(refused("--min-p", "is a field of each request (min_p), not of the server"));
  }

  bool is_worker() const { return !pool_.unix_socket.empty(); }

  /// Who may ask what is the parent's to say, and it has chosen the model.
  void as_worker(server::ServerOptions& out) const {
    out.unix_socket = pool_.unix_socket;
    out.api_key.clear();
    out.allowed_origins.clear();
    out.any_model = true;
  }

  services::ServerDefaults defaults(const Context& context) const {
    return {.temperature = sampling_.temperature,
            .top_p = sampling_.top_p,
            .top_k = sampling_.top_k,
            .max_tokens = sampling_.max_tokens,
            .thinking = thinking_,
            .sessions = context.environment.get("HEARTH_SESSION_CACHE") != "0",
            .grammars = context.environment.get("HEARTH_GRAMMAR") != "0"};
  }

  /// While a server is there to be told of models that came or went.
  class Refreshed {
   public:
    Refreshed(Serve& serve, server::Server& server) : serve_(serve) { tell(&server); }
    ~Refreshed() { tell(nullptr); }
    Refreshed(const Refreshed&) = delete;

   private:
    void tell(server::Server* server) const {
      const std::scoped_lock lock(serve_.refresh_mutex_);
      serve_.refreshed_ = server;
    }
    Serve& serve_;
  };

  /// SIGHUP, on a thread of its own.
  void look_again(const ServedModelsOptions& wanted, const Context& context) {
    const std::scoped_lock lock(refresh_mutex_);
    log::info("SIGHUP: {} models indexed", open_registry(context).all().size());
    if (!refreshed_ || !pool_.pool) return;
    if (auto known = models_.look(wanted, pool_, template_, context); !known) {
      log::warn("the list of models stays as it was: {}", known.error().message);
      return;
    }
    refreshed_->refresh_models(models_.catalog());
  }

  server::ServerOptions server_options(const Context& context) const {
    server::ServerOptions out;
    out.host = network_.host;
    out.port = network_.port;
    out.api_key = network_.api_key;
    out.allowed_origins = split_commas(network_.origins);
    out.served_name = network_.served_name;
    out.any_model = network_.any_model;
    if (is_worker()) as_worker(out);
    out.defaults = defaults(context);
    // Long enough for most answers, short enough for whoever waits for the program to end.
    out.shutdown_limit = shutdown_limit(context.environment).value_or(std::chrono::seconds(4));
    return out;
  }

  Result<int> load_and_wait(Context& context, server::Server& server) {
    server::ModelSetup setup{.models = models_.catalog(), .limits = models_.limits(), .load = {}};
    if (pool_.isolate && !is_worker()) {
      setup.workers = worker_settings(context);
      setup.ready = [&, id = setup.models.front().id] { tell_ready(context, id, "", server); };
    } else {
      setup.load = [&](const services::CatalogModel& entry) {
        return load(context, entry, server);
      };
    }
    server.serve_models(std::move(setup));
    const auto ended = server.wait();
    const bool failed = !ended && ended.error().code != ErrorCode::cancelled;
    const bool free = server.release_models();
    if (failed) return fail(ended.error());
    if (!ended) context.terminal.warn(ended.error().message);  // streams that the stop cut
    if (!free) std::_Exit(exit_ok);  // stopped meanwhile: the load is not awaited
    return exit_ok;
  }

  Result<std::shared_ptr<services::LoadedModel>> load(Context& context,
                                                      const services::CatalogModel& entry,
                                                      const server::Server& server) {
    const auto known = models_.find(entry);
    if (!known) return fail(known.error());
    const ModelSettings& own = known->settings;
    auto options = engine_options(context);
    if (own.l1) options.tier = *own.l1 ? engine::Tier::l1 : engine::Tier::fast;
    if (own.batch) options.max_rows = *own.batch;
    if (own.context) options.context = *own.context;
    cache_.apply(options);
    auto model =
        load_with_step(context.terminal, entry.path, entry.id, options, context.quiet, true);
    if (model) model = with_template(std::move(*model), known->chat_template);
    if (!model || told_ || is_worker()) return model;
    told_ = true;
    tell_ready(context, entry.id,
               fmt::format(" on {}, tier {}, up to {} answers at a time", engine::backend().device,
                           options.tier == engine::Tier::l1 ? "l1" : "fast", options.max_rows),
               server);
    return model;
  }

  static Result<std::shared_ptr<services::LoadedModel>> with_template(
      std::shared_ptr<services::LoadedModel> model, const TemplateFile& instead) {
    if (!instead.file.empty()) {
      auto chat = text::ChatTemplate::from_source(instead.source, model->tokenizer);
      if (!chat) {
        return fail(chat.error().code, fmt::format("{}: {}", instead.file, chat.error().message));
      }
      model->chat_template = std::move(*chat);
    }
    if (!model->chat_template && !model->embedding) {
      return fail(no_template(*model, "--chat-template FILE gives it one"));
    }
    return model;
  }

  server::WorkerSettings worker_settings(const Context& context) const {
    server::WorkerSettings out;
    out.folder = context.folders.runtime / fmt::format("serve-{}", ::getpid());
    out.drain_limit = shutdown_limit(context.environment).value_or(std::chrono::seconds(4)) +
                      std::chrono::seconds(10);
    out.arguments = [&](const services::CatalogModel& entry) {
      const auto known = models_.find(entry);
      return worker_arguments(context, known ? known->section : "", entry);
    };
    return out;
  }

  void tell_ready(const Context& context, const std::string& name, const std::string& how,
                  const server::Server& server) const {
    Terminal& terminal = context.terminal;
    if (!context.quiet) {
      terminal.note(fmt::format("Ready: {}{}", terminal.paint_err(name, Style::bold),
                                how.empty() ? " in a process of its own" : how));
      terminal.note(fmt::format("  chat  {}/", server.url()));
      terminal.note(fmt::format("  API   {}/v1", server.url()));
      terminal.note("  stop  Ctrl-C, or SIGTERM");
    }
    if (!network_.no_open) open_browser(server.url() + "/", context.environment, terminal);
  }

  ModelArgument model_;
  NetworkOptions network_;
  EngineFlags engine_;
  CacheFlags cache_;
  SamplingOptions sampling_;
  std::string template_file_;
  TemplateFile template_;  // that template_file_ names
  ModelList models_;
  std::mutex refresh_mutex_;             // guards refreshed_
  server::Server* refreshed_ = nullptr;  // null: not yet, or no longer
  PoolFlags pool_;
  bool told_ = false;  // of the loading thread: that the server is ready
  std::optional<int> batch_, concurrency_, context_;
  std::optional<float> memory_budget_, kv_budget_;
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
