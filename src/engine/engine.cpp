#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "engine/checkpoints.h"
#include "engine/device.h"
#include "engine/prompt_cache/fingerprint.h"
#include "engine/scheduler.h"
#include "models/load.h"

namespace hearth::engine {

namespace mx = mlx::core;

namespace {

constexpr double usable_share = 0.75;  // of the device's memory, where no budget is set
// That a token of a step takes while it is computed: twice what an 8B model's does in float32.
constexpr std::size_t step_token_bytes = 550'000;

int enforced_context(const Limits& limits) {
  if (!limits.budget) return limits.context;
  return limits.context > 0 ? std::min(limits.context, *limits.budget) : *limits.budget;
}

}  // namespace

struct Engine::Impl {
  explicit Impl(EngineOptions given) : options(std::move(given)) {}

  /// The engine thread: loads, reports, runs until it is stopped.
  void run(const std::filesystem::path& path, std::promise<Result<void>> loaded,
           std::stop_token stop);
  Result<models::Loaded> load(const std::filesystem::path& path);
  int served_context(const models::Loaded& model) const;
  /// Makes the prompt cache and the checkpoints that are asked for.
  void keep_answers(const std::filesystem::path& path, const models::Loaded& model);
  /// What the model's caches take, and what requests are held to.
  void measure(const models::Loaded& model);
  void limit(std::size_t others);
  Limits limits_now() const {
    const std::scoped_lock lock(limits_mutex);
    return limits;
  }
  int safe_now() const {
    const std::scoped_lock lock(limits_mutex);
    return safe;
  }
  Result<void> queue(Job job);

  const EngineOptions options;
  ModelInfo info;
  std::vector<KvLayers> kv_layers;
  mutable std::mutex limits_mutex;  // guards the next two, which other engines change
  Limits limits;
  int safe = 0;  // tokens that fit in memory
  bool kernels = false;
  Counters counters;
  std::unique_ptr<PromptCache> prompt_cache;  // null: none
  std::unique_ptr<Checkpoints> checkpoints;   // null: none
  std::string answer_space;                   // of checkpoints: all but the request
  std::atomic<bool> closed{false};
  Inbox<Job> inbox{4096};
  // Last member: it starts after, and is joined before, everything it uses.
  std::jthread thread;
};

Result<models::Loaded> Engine::Impl::load(const std::filesystem::path& path) {
  const auto device = choose_device(options.device);
  if (!device) return fail(device.error());
  // Engines that run already read it: it is written only to be changed.
  if (mx::default_device() != *device) mx::set_default_device(*device);
  const bool on_cpu = device->type == mx::Device::cpu;
  kernels = options.tier == Tier::fast && (on_cpu || models::device_takes(path));
  if (kernels && on_cpu) kernels::set_threads(options.threads);
  return models::load(path, kernels ? tensor::Execution::kernels : tensor::Execution::plain);
}

void Engine::Impl::run(const std::filesystem::path& path, std::promise<Result<void>> loaded,
                       std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  auto model = load(path);
  if (!model) return loaded.set_value(fail(model.error()));
  for (const auto& note : model->notes) log::info("{}: {}", path.string(), note);
  info = {.model_type = model->model_type,
          .vocab_size = model->vocab_size,
          .context_length = served_context(*model),
          .layers = model->layers,
          .hidden_size = model->hidden_size,
          .weight_bytes = model->bytes,
          .parameters = model->parameters,
          .quantization = model->quantization,
          .tool_dialect = std::string(models::to_string(model->tool_calls)),
          .encoder = model->encoder,
          .kernels = kernels,
          .load_seconds =
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  measure(*model);
  keep_answers(path, *model);
  loaded.set_value({});
  Scheduler(*model->model, options, kernels, prompt_cache.get(), counters).run(inbox, stop);
}

int Engine::Impl::served_context(const models::Loaded& model) const {
  if (options.context == 0) return model.context_length;
  return model.context_length > 0 ? std::min(options.context, model.context_length)
                                  : options.context;
}

void Engine::Impl::keep_answers(const std::filesystem::path& path, const models::Loaded& model) {
  const auto& wanted = options.prompt_cache;
  if (wanted.max_bytes == 0) return;
  const bool files = !wanted.disk.empty();
  const auto space = files ? fingerprint(path, options, kernels) : "";
  prompt_cache =
      std::make_unique<PromptCache>(options, space, [this, specs = model.model->caches()] {
        return tensor::make_sequence_cache(specs, kernels);
      });
  if (!files || options.checkpoint_every == 0) return;
  answer_space = space + tokenizer_fingerprint(path);
  checkpoints = std::make_unique<Checkpoints>(Checkpoints::Settings{
      .folder = wanted.disk / "checkpoints", .every = options.checkpoint_every});
}

void Engine::Impl::measure(const models::Loaded& model) {
  // Pages hold 16 bits a number; the caches of the plain graph hold what the model computes in.
  const std::size_t number = !kernels && model.quantization == "float32" ? 4 : 2;
  for (const auto& spec : model.model->caches()) {
    if (spec.both_ways) continue;  // keeps nothing
    if (spec.states > 0) {
      info.kv_window_size += spec.state_size;
      kv_layers.push_back({.token_bytes = spec.state_size * number, .window = 1});
      continue;
    }
    const std::size_t size = 2 * std::size_t(spec.kv_heads) * std::size_t(spec.head_dim);
    ++(spec.window > 0 ? info.sliding_layers : info.global_layers);
    (spec.window > 0 ? info.kv_window_size : info.kv_token_size) +=
        size * std::size_t(std::max(1, spec.window));
    kv_layers.push_back({.token_bytes = size * number, .window = spec.window});
  }
  const bool budget = options.memory_budget > 0;
  info.usable_bytes =
      budget ? options.memory_budget : std::size_t(double(backend().memory_bytes) * usable_share);
  limit(0);
  if (budget) mx::set_memory_limit(options.memory_budget);
}

/// Reckons what requests are held to, beside `others` bytes of other models.
void Engine::Impl::limit(std::size_t others) {
  const bool budget = options.memory_budget > 0;
  const bool ends = !options.attempt_overflow || options.context > 0;
  const int fits = safe_context(
      {.usable = info.usable_bytes - std::min(info.usable_bytes, others),
       .weights = info.weight_bytes,
       .transient = step_token_bytes,
       .step_tokens = options.tier == Tier::fast ? options.step_tokens : options.prefill_chunk,
       .context = info.context_length,
       .layers = kv_layers});
  const std::scoped_lock lock(limits_mutex);
  safe = fits;
  limits = {.context = ends ? info.context_length : 0,
            .budget = budget ? std::optional(fits) : std::nullopt,
            .kv_budget = options.kv_budget};
}

void Engine::share(const Share& share) {
  impl_->limit(share.others);
  if (!impl_->prompt_cache) return;
  const auto all = impl_->options.prompt_cache.max_bytes;
  impl_->prompt_cache->resize(all / std::size_t(std::max(1, share.engines)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::load(const std::filesystem::path& model,
                                             EngineOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  std::promise<Result<void>> loaded;
  auto outcome = loaded.get_future();
  impl->thread = std::jthread(
      [&impl = *impl, model, loaded = std::move(loaded)](std::stop_token stop) mutable {
        const CpuStream stream;
        impl.run(model, std::move(loaded), stop);
      });
  if (auto ok = outcome.get(); !ok) return fail(ok.error());
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Result<std::shared_ptr<TokenStream>> Engine::submit(GenerateRequest request) {
  const auto& info = impl_->info;
  if (request.prompt.empty()) {
    return fail(ErrorCode::invalid_request, "the prompt is empty, expected at least one token");
  }
  for (const TokenId id : request.prompt) {
    if (id < 0 || id >= info.vocab_size) {
      return fail(ErrorCode::invalid_request,
                  fmt::format("token id {} is outside the vocabulary of {}", id, info.vocab_size));
    }
  }
  if (request.max_tokens && *request.max_tokens < 1) {
    return fail(ErrorCode::invalid_request,
                fmt::format("max_tokens is {}, expected at least 1", *request.max_tokens),
                "max_tokens");
  }
  if (auto ok = validate(request.sampling, info.vocab_size); !ok) return fail(ok.error());
  auto granted =
      grant(int(request.prompt.size()), request.max_tokens, impl_->limits_now(), impl_->kv_layers);
  if (!granted) return fail(granted.error());
  std::shared_ptr<Checkpoints::Claim> claim;
  if (impl_->checkpoints) {
    auto claimed = claim_answer(*impl_->checkpoints, impl_->answer_space, request,
                                granted->token_limit, info.vocab_size);
    if (!claimed) return fail(claimed.error());
    claim = std::move(*claimed);
  }
  request.mask_anew = nullptr;
  // What was said comes at once, however long it is.
  const auto said = claim && claim->found() ? claim->found()->tokens.size() : 0;
  auto stream = std::make_shared<TokenStream>(TokenStream::usual_capacity + said);
  Job job{.request = std::move(request),
          .stream = stream,
          .submitted = Sequence::Clock::now(),
          .grant = *granted,
          .claim = std::move(claim),
          .alone = nullptr};
  ++impl_->counters.submitted;  // before the engine can count its end
  if (auto queued = impl_->queue(std::move(job)); !queued) {
    --impl_->counters.submitted;
    return fail(queued.error());
  }
  return stream;
}

Result<void> Engine::Impl::queue(Job job) {
  if (closed) return fail(ErrorCode::overloaded, "the server is stopping");
  auto& waiting = counters.waiting;
  if (++waiting > options.max_waiting + options.max_rows) {
    --waiting;
    return fail(ErrorCode::overloaded,
                fmt::format("{} requests are waiting already, try again", options.max_waiting));
  }
  if (!inbox.push(job)) {
    --waiting;
    return fail(ErrorCode::overloaded, "the engine's queue is full, try again");
  }
  return {};
}

std::future<Result<void>> Engine::run_alone(LoneWork work) {
  auto lone = std::make_shared<LoneJob>(LoneJob{.work = std::move(work), .done = {}});
  auto done = lone->done.get_future();
  auto queued = impl_->queue(
      {.request = {}, .stream = {}, .submitted = {}, .grant = {}, .claim = {}, .alone = lone});
  if (!queued) lone->done.set_value(fail(queued.error()));
  return done;
}

const ModelInfo& Engine::info() const { return impl_->info; }

EngineStats Engine::stats() const {
  const auto& c = impl_->counters;
  const auto limits = impl_->limits_now();
  return {.max_rows = impl_->options.max_rows,
          .active_rows = c.active,
          .waiting = c.waiting,
          .submitted = c.submitted,
          .finished = c.finished,
          .cancelled = c.cancelled,
          .prompt_tokens = c.prompt_tokens,
          .completion_tokens = c.completion_tokens,
          .steps = c.steps,
          .kv_bytes = c.kv_bytes,
          .kv_projected_bytes = c.kv_projected,
          .kv_budget_bytes = limits.kv_budget,
          .memory_budget_bytes = impl_->options.memory_budget,
          .enforced_context = enforced_context(limits),
          .safe_context = impl_->safe_now(),
          .prompt_cache = impl_->prompt_cache ? impl_->prompt_cache->stats() : PromptCacheStats{},
          .ssd_cache = impl_->prompt_cache ? impl_->prompt_cache->disk_stats() : DiskCacheStats{},
          .checkpoints = impl_->checkpoints ? impl_->checkpoints->stats() : CheckpointStats{}};
}

void Engine::close_session(const std::string& session) {
  if (impl_->prompt_cache) impl_->prompt_cache->close_session(session);
}

FlushReport Engine::flush_cache(std::chrono::milliseconds limit) {
  return impl_->prompt_cache ? impl_->prompt_cache->flush(limit) : FlushReport{};
}

void Engine::close() { impl_->closed = true; }

bool Engine::wait_idle(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (impl_->counters.active > 0 || impl_->counters.waiting > 0) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace hearth::engine
