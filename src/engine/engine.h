// The engine: one thread that owns a model, its caches and the device. Everybody else hands it
// requests and reads token streams.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/prompt_cache/options.h"
#include "engine/sampling.h"
#include "engine/token_mask.h"
#include "engine/token_stream.h"

namespace hearth::models {
class Model;
}

namespace hearth::engine {

enum class Tier {
  fast,  // our kernels, rows of a step share dense layers
  l1,    // mlx-lm's graph op for op, one row a forward
};

struct EngineOptions {
  Tier tier = Tier::fast;
  std::string device = "auto";    // auto, cpu, gpu, cuda[:n], metal
  int max_rows = 8;               // rows decoded together
  int max_waiting = 64;           // requests queued beyond them
  int prefill_chunk = 2048;       // most tokens one row prefills in a step, as mlx-lm
  int step_tokens = 512;          // fast tier: most tokens of one step, decode rows first
  int threads = 0;                // CPU kernels; 0: one a core
  int context = 0;                // most tokens of prompt and answer; 0: the model's own
  std::size_t kv_budget = 0;      // bytes of keys and values that all rows may come to; 0: no end
  std::size_t memory_budget = 0;  // bytes of weights, caches and a step; 0: estimates are advice
  bool attempt_overflow = false;  // goes on beyond the model's context instead of ending there
  PromptCacheOptions prompt_cache;
  int checkpoint_every = 0;  // tokens of an answer between two checkpoints; 0: none. Needs
                             // prompt_cache.disk
};

struct GenerateRequest {
  std::vector<TokenId> prompt;  // at least one
  Sampling sampling;
  std::optional<int> max_tokens;  // none: to a stop id or the end of the context
  std::set<TokenId> stop_ids;
  bool score_prompt = false;        // a ScoredPrompt comes first, with sampling.top_logprobs rivals
  std::shared_ptr<TokenMask> mask;  // this row's own; null: nothing is ruled out
  /// Makes the mask again. Called within submit() alone; without it a masked answer is not kept.
  std::function<Result<std::shared_ptr<TokenMask>>()> mask_anew;
  std::string cache_scope;   // what besides the tokens decides keys and values: adapters, media
  std::string answer_scope;  // what besides these fields decides the answer: stop strings, the mask
  int choice = 0;            // of the answers to one client's request, which this is
  std::string session;       // of the client: its blocks stay a little longer; empty: none
};

/// What is known of a loaded model.
struct ModelInfo {
  std::string model_type;  // config.json's, after mlx-lm's remaps
  int vocab_size = 0;      // rows of the output head
  int context_length = 0;  // max_position_embeddings, or what EngineOptions::context leaves of it
  int layers = 0;
  int hidden_size = 0;
  int global_layers = 0;           // that attend to everything
  int sliding_layers = 0;          // that attend to a window
  std::size_t kv_token_size = 0;   // numbers that a token adds to the caches of the global layers
  std::size_t kv_window_size = 0;  // numbers that the sliding layers' caches hold when full
  std::size_t usable_bytes = 0;    // for weights, caches and a step
  std::size_t weight_bytes = 0;
  std::size_t parameters = 0;
  std::string quantization;  // "4-bit, group 64", "bfloat16", ...
  std::string tool_dialect;  // Family::tool_calls
  bool encoder = false;      // makes embeddings and no text
  bool kernels = false;      // runs on our kernels
  double load_seconds = 0;
};

/// Of generation checkpoints.
struct CheckpointStats {
  int every = 0;  // tokens between two of an answer; 0: there are none
  std::uint64_t written = 0, failed = 0;
  std::uint64_t resumed = 0;          // answers that went on from one
  std::uint64_t replayed_tokens = 0;  // of them, what was not generated again

  /// As those of PromptCacheStats.
  void retire(const CheckpointStats& other);
  CheckpointStats& operator+=(const CheckpointStats& other);
};

struct EngineStats {
  int max_rows = 0;  // that may be active
  int active_rows = 0;
  int waiting = 0;
  std::uint64_t submitted = 0;
  std::uint64_t finished = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::uint64_t steps = 0;
  std::size_t kv_bytes = 0;
  std::size_t kv_projected_bytes = 0;   // that the active rows may come to
  std::size_t kv_budget_bytes = 0;      // 0: none
  std::size_t memory_budget_bytes = 0;  // 0: none
  int enforced_context = 0;             // tokens that end an answer; 0: none
  int safe_context = 0;  // tokens that fit beside the weights, in the memory budget if any
  PromptCacheStats prompt_cache;
  DiskCacheStats ssd_cache;
  CheckpointStats checkpoints;
};

/// What of the memory that engines divide among them one of them has.
struct Share {
  int engines = 1;         // that divide EngineOptions::prompt_cache's memory equally
  std::size_t others = 0;  // bytes of weights that the others hold
  bool operator==(const Share&) const = default;
};

/// What runs alone on the engine thread, which owns the model: embeddings, changes of adapters.
using LoneWork = std::function<Result<void>(const models::Model& model)>;

class Engine {
 public:
  /// Loads the weights on the engine's own thread and waits for it.
  /// @param model  a folder with config.json and safetensors, or a .gguf file
  /// Errors: not_found, corrupt_file (file and tensor), unsupported (unknown model_type, listing
  /// the known ones; absent device), io.
  static Result<std::unique_ptr<Engine>> load(const std::filesystem::path& model,
                                              EngineOptions options);
  ~Engine();  // cancels what runs and joins the thread

  /// Queues a request. Any thread.
  /// Errors: invalid_request (empty prompt, id outside the vocabulary, sampling ranges; max_tokens
  /// that no KV budget has room for), context_overflow (both numbers), overloaded (the queue is
  /// full).
  Result<std::shared_ptr<TokenStream>> submit(GenerateRequest request);

  /// Queues work that runs on the engine thread while no row does. What was submitted before it
  /// ends first, what is submitted after it starts later: nobody is passed and nobody starves.
  /// Any thread.
  /// @return ready when it has run. Errors: its own; internal if it throws; overloaded (the queue
  ///         is full); cancelled when the engine ends before.
  std::future<Result<void>> run_alone(LoneWork work);

  const ModelInfo& info() const;
  EngineStats stats() const;

  /// Takes its share of what was given to several engines together: its prompt cache shrinks or
  /// grows, and answers fit beside the weights of the others too. Any thread.
  void share(const Share& share);

  /// Ends what GenerateRequest::session began; what is cached stays. Any thread.
  void close_session(const std::string& session);
  /// Writes what the prompt cache has to its files; without files there is nothing to do. Any
  /// thread, which waits for at most `limit`.
  FlushReport flush_cache(std::chrono::milliseconds limit);

  /// Stops admitting; rows that run go on. Then wait_idle() until they end or `limit` passes.
  void close();
  bool wait_idle(std::chrono::milliseconds limit);

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What MLX runs on, for doctor and version: "0.32.4", "cpu", device name, SIMD level, ...
struct Backend {
  std::string mlx_version;
  std::string pack;              // cpu, cuda12, cuda13, metal
  std::string device;            // default device in words
  std::string simd;              // of our kernels
  std::size_t memory_bytes = 0;  // of the device
};
Backend backend();

/// Memory of MLX's allocator, in bytes.
struct Memory {
  std::size_t active = 0, peak = 0, cache = 0;
};
Memory memory();
/// Gives what freed arrays left in MLX's and the C library's hands back to the system.
void release_memory();

}  // namespace hearth::engine
