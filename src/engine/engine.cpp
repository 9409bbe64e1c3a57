#include "engine/engine.h"

#include <fmt/format.h>

#include <future>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "engine/prompt_cache/fingerprint.h"
#include "engine/scheduler.h"
#include "models/load.h"

namespace hearth::engine {

namespace mx = mlx::core;

namespace {

/// The MLX device that `--device` names.
Result<mx::Device> choose_device(const std::string& name) {
  const bool gpu = mx::is_available(mx::Device::gpu);
  if (name == "cpu") return mx::Device(mx::Device::cpu);
  if (name == "auto") return mx::Device(gpu ? mx::Device::gpu : mx::Device::cpu);
  int index = 0;
  if (const auto colon = name.find(':'); colon != name.npos) {
    index = std::atoi(name.c_str() + colon + 1);
  }
  const auto kind = name.substr(0, name.find(':'));
  if (kind != "gpu" && kind != "cuda" && kind != "metal") {
    return fail(
        ErrorCode::unsupported,
        fmt::format("device \"{}\" is unknown, expected auto, cpu, gpu, cuda[:n] or metal", name),
        "device");
  }
  const int count = gpu ? mx::device_count(mx::Device::gpu) : 0;
  if (index >= count) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("device \"{}\" was asked for, but this build finds {} GPUs", name, count),
        "device");
  }
  return mx::Device(mx::Device::gpu, index);
}

/// The calling thread's stream of CPU work for as long as this lives. MLX never ends the thread
/// that it starts for such a stream, so those of engines that ended are used again.
class CpuStream {
 public:
  CpuStream() : stream_(take()) { mx::set_default_stream(stream_); }
  ~CpuStream() {
    const std::scoped_lock lock(mutex());
    free().push_back(stream_);
  }
  CpuStream(const CpuStream&) = delete;

 private:
  static mx::Stream take() {
    const std::scoped_lock lock(mutex());
    if (free().empty()) return mx::new_thread_unsafe_stream(mx::Device::cpu);
    const mx::Stream stream = free().back();
    free().pop_back();
    return stream;
  }
  static std::mutex& mutex() {  // guards free()
    static std::mutex mutex;
    return mutex;
  }
  static std::vector<mx::Stream>& free() {
    static std::vector<mx::Stream> streams;
    return streams;
  }

  const mx::Stream stream_;
};

}  // namespace

struct Engine::Impl {
  explicit Impl(EngineOptions given) : options(std::move(given)) {}

  /// The engine thread: loads, reports, runs until it is stopped.
  void run(const std::filesystem::path& path, std::promise<Result<void>> loaded,
           std::stop_token stop);
  Result<models::Loaded> load(const std::filesystem::path& path);

  const EngineOptions options;
  ModelInfo info;
  bool kernels = false;
  Counters counters;
  std::unique_ptr<PromptCache> prompt_cache;  // null: none
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
  kernels = options.tier == Tier::fast && device->type == mx::Device::cpu;
  if (kernels) kernels::set_threads(options.threads);
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
          .context_length = model->context_length,
          .layers = model->layers,
          .hidden_size = model->hidden_size,
          .weight_bytes = model->bytes,
          .parameters = model->parameters,
          .quantization = model->quantization,
          .tool_dialect = std::string(models::to_string(model->tool_calls)),
          .load_seconds =
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  for (const auto& spec : model->model->caches()) {
    const std::size_t size = 2 * std::size_t(spec.kv_heads) * std::size_t(spec.head_dim);
    ++(spec.window > 0 ? info.sliding_layers : info.global_layers);
    (spec.window > 0 ? info.kv_window_size : info.kv_token_size) +=
        size * std::size_t(std::max(1, spec.window));
  }
  if (options.prompt_cache.max_bytes > 0) {
    const bool files = !options.prompt_cache.disk.empty();
    prompt_cache =
        std::make_unique<PromptCache>(options, files ? fingerprint(path, options, kernels) : "",
                                      [this, specs = model->model->caches()] {
                                        return tensor::make_sequence_cache(specs, kernels);
                                      });
  }
  loaded.set_value({});
  Scheduler(*model->model, options, kernels, info.context_length, prompt_cache.get(), counters)
      .run(inbox, stop);
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
  if (info.context_length > 0 && int(request.prompt.size()) >= info.context_length) {
    return fail(
        ErrorCode::context_overflow,
        fmt::format("prompt is too long: {} tokens > {} maximum (the model's context is {}, "
                    "of which one must be left for the answer)",
                    request.prompt.size(), info.context_length - 1, info.context_length));
  }
  if (request.max_tokens && *request.max_tokens < 1) {
    return fail(ErrorCode::invalid_request,
                fmt::format("max_tokens is {}, expected at least 1", *request.max_tokens),
                "max_tokens");
  }
  if (auto ok = validate(request.sampling, info.vocab_size); !ok) return fail(ok.error());
  if (impl_->closed) return fail(ErrorCode::overloaded, "the server is stopping");
  auto& waiting = impl_->counters.waiting;
  if (++waiting > impl_->options.max_waiting + impl_->options.max_rows) {
    --waiting;
    return fail(ErrorCode::overloaded, fmt::format("{} requests are waiting already, try again",
                                                   impl_->options.max_waiting));
  }
  auto stream = std::make_shared<TokenStream>();
  Job job{std::move(request), stream, Sequence::Clock::now()};
  if (!impl_->inbox.push(job)) {
    --waiting;
    return fail(ErrorCode::overloaded, "the engine's queue is full, try again");
  }
  ++impl_->counters.submitted;
  return stream;
}

const ModelInfo& Engine::info() const { return impl_->info; }

EngineStats Engine::stats() const {
  const auto& c = impl_->counters;
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
          .prompt_cache = impl_->prompt_cache ? impl_->prompt_cache->stats() : PromptCacheStats{},
          .ssd_cache = impl_->prompt_cache ? impl_->prompt_cache->disk_stats() : DiskCacheStats{}};
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
