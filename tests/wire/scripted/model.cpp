#include "model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"

namespace hearth::scripted {
namespace {

using engine::FinishReason;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Lines of JSON, flushed one by one.
class Record {
 public:
  explicit Record(const std::filesystem::path& file) {
    if (!file.empty()) out_.open(file);
  }
  bool good() const { return out_.good(); }
  void write(const Json& line) {
    const std::scoped_lock lock(mutex_);
    if (out_.is_open())
      out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
  }

 private:
  std::mutex mutex_;
  std::ofstream out_;
};

struct Row {
  int turn_index;
  Turn turn;
  engine::GenerateRequest job;
  std::vector<text::TokenId> ids;
  std::shared_ptr<engine::TokenStream> stream = std::make_shared<engine::TokenStream>();
};

/// Stands in for the engine: a thread for each row.
class ScriptedEngine {
 public:
  ScriptedEngine(std::shared_ptr<const text::Tokenizer> tokenizer, int context_length,
                 Script script, const std::filesystem::path& record)
      : tokenizer_(std::move(tokenizer)), context_length_(context_length),
        script_(std::move(script)), record_(record) {}

  bool good() const { return record_.good(); }
  Result<std::shared_ptr<engine::TokenStream>> submit(engine::GenerateRequest job);
  engine::EngineStats stats() const;

 private:
  void run(Row row, const std::stop_token& stop);
  void finish(const Row& row, FinishReason reason, int tokens, steady_clock::time_point started,
              steady_clock::time_point first);
  engine::Sampled sampled(const Row& row, text::TokenId id) const;
  engine::ScoredPrompt scored(const Row& row) const;
  std::string tail(const std::string& prompt) const;

  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const int context_length_;
  Script script_;
  Record record_;
  std::atomic<int> active_ = 0;
  std::atomic<std::uint64_t> submitted_ = 0, finished_ = 0, cancelled_ = 0, prompt_tokens_ = 0,
                             completion_tokens_ = 0;
  std::mutex mutex_;                   // guards threads_
  std::vector<std::jthread> threads_;  // last: joined before what they use goes
};

std::string ScriptedEngine::tail(const std::string& prompt) const {
  auto from = prompt.size() > 400 ? prompt.size() - 400 : 0;
  while (from < prompt.size() && (prompt[from] & 0xc0) == 0x80) ++from;
  return prompt.substr(from);
}

Result<std::shared_ptr<engine::TokenStream>> ScriptedEngine::submit(engine::GenerateRequest job) {
  const int prompt_tokens = int(job.prompt.size());
  const auto prompt = tokenizer_->decode(job.prompt, false);
  if (prompt_tokens >= context_length_) {  // in the engine's words
    return fail(
        ErrorCode::context_overflow,
        fmt::format("prompt is too long: {} tokens > {} maximum (the model's context is {}, "
                    "of which one must be left for the answer)",
                    prompt_tokens, context_length_ - 1, context_length_));
  }
  auto picked = script_.take(prompt);
  record_.write({{"turn", picked ? picked->index : -1},
                 {"prompt", prompt},
                 {"prompt_tokens", prompt_tokens},
                 {"max_tokens", job.max_tokens ? Json(*job.max_tokens) : Json()},
                 {"temperature", job.sampling.temperature}});
  if (!picked) {
    return fail(ErrorCode::invalid_request,
                "the script has no turn for a prompt that ends in: " + tail(prompt));
  }
  if (picked->turn.refuse) return fail(*picked->turn.refuse, "the script refuses this request");
  auto ids = tokenizer_->encode(picked->turn.said(prompt), {});
  if (!ids) return fail(ids.error());
  Row row{picked->index, std::move(picked->turn), std::move(job), std::move(*ids)};
  auto stream = row.stream;
  ++submitted_;
  ++active_;
  prompt_tokens_ += std::uint64_t(prompt_tokens);
  const std::scoped_lock lock(mutex_);
  threads_.emplace_back([this, row = std::move(row)](const std::stop_token& stop) mutable {
    run(std::move(row), stop);
  });
  return stream;
}

engine::EngineStats ScriptedEngine::stats() const {
  return {.max_rows = 64,
          .active_rows = active_,
          .submitted = submitted_,
          .finished = finished_,
          .cancelled = cancelled_,
          .prompt_tokens = prompt_tokens_,
          .completion_tokens = completion_tokens_,
          .steps = completion_tokens_,
          .enforced_context = context_length_};
}

/// Waits, but not for a row that was cancelled. @return false when it was
bool pause(const engine::TokenStream& stream, milliseconds time, const std::stop_token& stop) {
  const auto end = steady_clock::now() + time;
  while (!stream.cancelled() && !stop.stop_requested()) {
    const auto left = end - steady_clock::now();
    if (left <= left.zero()) return true;
    std::this_thread::sleep_for(std::min<steady_clock::duration>(left, milliseconds(2)));
  }
  return false;
}

engine::Sampled ScriptedEngine::sampled(const Row& row, text::TokenId id) const {
  engine::Sampled out{.id = id, .logprob = -0.25f, .top = {}};
  for (int i = 0; i < row.job.sampling.top_logprobs; ++i) {
    out.top.push_back({(id + i) % tokenizer_->vocab_size(), -0.25f - float(i)});
  }
  return out;
}

engine::ScoredPrompt ScriptedEngine::scored(const Row& row) const {
  engine::ScoredPrompt out;
  for (const auto id : row.job.prompt) out.tokens.push_back(sampled(row, id));
  out.tokens.front() = {.id = row.job.prompt.front(), .logprob = NAN, .top = {}};
  return out;
}

void ScriptedEngine::run(Row row, const std::stop_token& stop) {
  const auto started = steady_clock::now();
  int tokens = 0;
  auto reason = row.turn.finish;
  bool runs = pause(*row.stream, row.turn.delay, stop);
  const auto first = steady_clock::now();
  if (runs && row.job.score_prompt) row.stream->push(scored(row));
  for (const auto id : row.ids) {
    if (!runs || row.job.stop_ids.contains(id)) break;
    if (row.job.max_tokens && tokens >= *row.job.max_tokens) {
      reason = FinishReason::length;
      break;
    }
    if (tokens > 0) runs = pause(*row.stream, row.turn.token_delay, stop);
    if (!runs) break;
    row.stream->push(sampled(row, id));
    ++tokens;
  }
  finish(row, runs ? reason : FinishReason::cancelled, tokens, started, first);
}

void ScriptedEngine::finish(const Row& row, FinishReason reason, int tokens,
                            steady_clock::time_point started, steady_clock::time_point first) {
  using Seconds = std::chrono::duration<double>;
  engine::Finish finish;
  finish.reason = reason;
  finish.usage.prompt_tokens = int(row.job.prompt.size());
  finish.usage.completion_tokens = tokens;
  finish.usage.prefill_seconds = Seconds(first - started).count();
  finish.usage.decode_seconds = Seconds(steady_clock::now() - first).count();
  if (reason == FinishReason::stop && !row.job.stop_ids.empty()) {
    finish.stop_id = *row.job.stop_ids.begin();
    ++finish.usage.completion_tokens;
  }
  if (reason == FinishReason::error)
    finish.error = Error{ErrorCode::internal, "the script failed", ""};
  --active_;
  ++(reason == FinishReason::cancelled ? cancelled_ : finished_);
  completion_tokens_ += std::uint64_t(finish.usage.completion_tokens);
  record_.write({{"turn", row.turn_index},
                 {"tokens", tokens},
                 {"cancelled", reason == FinishReason::cancelled}});
  row.stream->push(std::move(finish));
}

Result<std::shared_ptr<const text::ChatTemplate>> load_template(
    const ModelOptions& options, const std::shared_ptr<const text::Tokenizer>& tokenizer) {
  if (options.chat_template.empty()) return text::ChatTemplate::load(options.folder, tokenizer);
  const auto source = read_file(options.chat_template);
  if (!source) return fail(source.error());
  return text::ChatTemplate::from_source(*source, tokenizer);
}

}  // namespace

Result<std::shared_ptr<services::LoadedModel>> load(const ModelOptions& options, Script script) {
  auto tokenizer = text::Tokenizer::load(options.folder);
  if (!tokenizer) return fail(tokenizer.error());
  auto chat_template = load_template(options, *tokenizer);
  if (!chat_template) return fail(chat_template.error());
  const auto engine = std::make_shared<ScriptedEngine>(*tokenizer, options.context_length,
                                                       std::move(script), options.record);
  if (!engine->good()) {
    return fail(ErrorCode::io, options.record.string() + " cannot be written");
  }
  auto model = std::make_shared<services::LoadedModel>();
  model->id = options.id.empty() ? services::model_id(options.folder) : options.id;
  model->path = options.folder;
  model->tokenizer = *tokenizer;
  model->chat_template = *chat_template;
  model->info.model_type = "scripted";
  model->info.vocab_size = (*tokenizer)->vocab_size();
  model->info.context_length = options.context_length;
  model->info.tool_dialect = options.tool_dialect;
  model->submit = [engine](engine::GenerateRequest job) { return engine->submit(std::move(job)); };
  model->stats = [engine] { return engine->stats(); };
  return model;
}

}  // namespace hearth::scripted
