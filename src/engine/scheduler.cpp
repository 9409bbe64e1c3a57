#include "engine/scheduler.h"

#include <algorithm>
#include <limits>
#include <random>

#include "base/log.h"

namespace hearth::engine {

namespace mx = mlx::core;

namespace {

constexpr int scored_at_once = 128;  // tokens whose logits are held together

std::uint64_t fresh_seed() {
  thread_local std::random_device device;
  return (std::uint64_t(device()) << 32) | device();
}

}  // namespace

Scheduler::Scheduler(const models::Model& model, const EngineOptions& options, bool kernels,
                     int context_length, PromptCache* prompt_cache, Counters& counters)
    : model_(model), options_(options), kernels_(kernels), context_length_(context_length),
      cache_specs_(model.caches()), runner_(model, options.tier == Tier::fast),
      prompt_cache_(prompt_cache), counters_(counters) {}

void Scheduler::run(Inbox<Job>& inbox, std::stop_token stop) {
  while (!stop.stop_requested()) {
    enqueue(idle() ? inbox.wait(stop) : inbox.drain());
    drop_cancelled();
    admit();
    if (!rows_.empty()) step();
    remove_ended();
  }
  enqueue(inbox.drain());
  for (auto& row : rows_) end(*row, {.reason = FinishReason::cancelled});
  remove_ended();
  for (auto& job : waiting_) {
    --counters_.waiting;
    ++counters_.cancelled;
    job.stream->push(Finish{.reason = FinishReason::cancelled});
  }
  waiting_.clear();
}

void Scheduler::enqueue(std::vector<Job> jobs) {
  for (auto& job : jobs) waiting_.push_back(std::move(job));
}

void Scheduler::drop_cancelled() {
  std::erase_if(waiting_, [&](Job& job) {
    if (!job.stream->cancelled()) return false;
    --counters_.waiting;
    ++counters_.cancelled;
    job.stream->push(Finish{.reason = FinishReason::cancelled,
                            .usage = {.prompt_tokens = int(job.request.prompt.size())}});
    return true;
  });
  for (auto& row : rows_) {
    if (row->stream->cancelled()) end(*row, {.reason = FinishReason::cancelled});
  }
  remove_ended();
}

void Scheduler::admit() {
  while (!waiting_.empty() && int(rows_.size()) < options_.max_rows) {
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    --counters_.waiting;
    ++counters_.active;
    auto row = std::make_unique<Sequence>();
    row->id = next_id_++;
    row->seed = job.request.sampling.seed.value_or(fresh_seed());
    const int room = context_length_ > 0 ? context_length_ - int(job.request.prompt.size())
                                         : std::numeric_limits<int>::max();
    row->token_limit = std::min(room, job.request.max_tokens.value_or(room));
    row->cache = tensor::make_sequence_cache(cache_specs_, kernels_);
    row->tokens = job.request.prompt;
    row->request = std::move(job.request);
    row->stream = std::move(job.stream);
    row->submitted = job.submitted;
    row->admitted = Sequence::Clock::now();
    rows_.push_back(std::move(row));
  }
}

Sequence& Scheduler::find(std::uint64_t id) const {
  return **std::ranges::find(rows_, id, [](const auto& row) { return row->id; });
}

std::vector<Row> Scheduler::plan() const {
  std::vector<Candidate> candidates;
  for (const auto& row : rows_) {
    if (!row->waits_for_files) candidates.push_back(row->candidate());
  }
  auto plan = options_.tier == Tier::l1 ? plan_l1_step(candidates, options_.prefill_chunk)
                                        : plan_step(candidates, options_.step_tokens);
  for (Row& planned : plan) {
    const auto& row = find(planned.id);
    if (row.scores_prompt()) planned.tokens = std::min(planned.tokens, scored_at_once);
    if (prompt_cache_) planned.tokens = prompt_cache_->step_limit(row, planned.tokens);
  }
  return plan;
}

RowWork Scheduler::work_of(Sequence& row, int tokens) const {
  const int wanted = row.scores_prompt() ? tokens : int(row.samples_after(tokens));
  return {&row.cache, std::span(row.tokens).subspan(row.forwarded, tokens), wanted};
}

/// Before every step: what the row before has computed since serves those behind it too.
void Scheduler::take_cached() {
  if (!prompt_cache_) return;
  for (auto& row : rows_) row->waits_for_files = !prompt_cache_->take(*row);
}

void Scheduler::step() {
  take_cached();
  const auto plan = this->plan();
  if (plan.empty()) return;
  const auto start = Sequence::Clock::now();
  int prefilled = 0;
  std::vector<RowWork> work;
  std::vector<MaskJob> masks;  // one for each row that is sampled
  for (const auto& [id, tokens] : plan) {
    auto& row = find(id);
    work.push_back(work_of(row, tokens));
    if (row.samples_after(tokens)) masks.push_back({row.request.mask.get()});
  }
  std::vector<tensor::Array> logits;
  try {
    logits = forward(work, masks);
  } catch (const std::exception& e) {
    return fail_rows(plan, e.what());
  }
  ++counters_.steps;
  std::size_t next = 0;
  auto mask = masks.begin();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    auto& row = find(plan[i].id);
    const auto own = std::span(logits).subspan(next, work[i].wanted);
    next += own.size();
    if (row.scores_prompt()) score_prompt(row, own, row.forwarded);
    row.forwarded += plan[i].tokens;
    if (!row.decoding()) prefilled += plan[i].tokens;
    if (prompt_cache_) prompt_cache_->publish(row);
    if (row.samples_after(0)) sample_row(row, own.back(), *mask++);
  }
  counters_.prompt_tokens += prefilled;
  if (prompt_cache_) prompt_cache_->note_prefill(prefilled, Sequence::Clock::now() - start);
  std::size_t bytes = 0;
  for (const auto& row : rows_) {
    for (const auto& cache : row->cache) bytes += cache->bytes();
  }
  counters_.kv_bytes = bytes;
}

std::vector<tensor::Array> Scheduler::forward(const std::vector<RowWork>& work,
                                              std::vector<MaskJob>& masks) {
  mask_worker_.start(masks);
  try {
    auto logits = runner_.run(work);
    mask_worker_.finish();
    return logits;
  } catch (...) {
    mask_worker_.finish();
    throw;
  }
}

Sampled Scheduler::sample(const Sequence& row, const tensor::Array& logits, MaskWords mask) const {
  auto widened = mx::contiguous(mx::astype(logits, mx::float32));
  mx::eval(widened);
  const std::span values(widened.data<float>(), widened.size());
  const auto& sampling = row.request.sampling;
  if (options_.tier == Tier::fast) {
    return sample_token(values, sampling, row.tokens, row.seed, row.generated, mask);
  }
  process_logits(values, sampling, row.tokens, rounding_to(logits.dtype()));
  const auto logprobs = l1_logprobs(mx::astype(widened, logits.dtype()));
  return sample_logprobs({logprobs.data<float>(), logprobs.size()}, sampling, row.seed,
                         row.generated, mask);
}

Sampled Scheduler::score(const Sequence& row, const tensor::Array& logits, TokenId id) const {
  const int rivals = row.request.sampling.top_logprobs;
  if (options_.tier == Tier::l1) {
    const auto logprobs = l1_logprobs(logits);
    return score_logprobs({logprobs.data<float>(), logprobs.size()}, id, rivals);
  }
  auto widened = mx::contiguous(mx::astype(logits, mx::float32));
  mx::eval(widened);
  const std::span values(widened.data<float>(), widened.size());
  normalise(values);
  return score_logprobs(values, id, rivals);
}

/// @param from  position of the token that the first of `logits` follows
void Scheduler::score_prompt(Sequence& row, std::span<const tensor::Array> logits, int from) {
  if (row.scores.empty()) {
    row.scores.push_back(
        {.id = row.tokens.front(), .logprob = std::numeric_limits<float>::quiet_NaN(), .top = {}});
  }
  for (const auto& one : logits) {
    if (++from == row.prompt_tokens()) break;
    row.scores.push_back(score(row, one, row.tokens[from]));
  }
  if (from == row.prompt_tokens()) row.stream->push(ScoredPrompt{std::move(row.scores)});
}

void Scheduler::sample_row(Sequence& row, const tensor::Array& logits, const MaskJob& mask) {
  const auto broken = [&](std::string words) {
    end(row,
        {.reason = FinishReason::error, .error = Error{ErrorCode::internal, std::move(words), {}}});
  };
  if (!mask.words) return broken("the constraint failed: " + mask.words.error().message);
  auto sampled = sample(row, logits, *mask.words);
  if (sampled.id < 0) {
    return broken(mask.words->empty() ? "the model's logits are not numbers"
                                      : "the constraint leaves no token whose logit is a number");
  }
  if (mask.mask && !row.request.stop_ids.contains(sampled.id)) {
    if (auto taken = mask.mask->accept(sampled.id); !taken) {
      return broken("the constraint failed: " + taken.error().message);
    }
  }
  deliver(row, std::move(sampled));
}

void Scheduler::deliver(Sequence& row, Sampled sampled) {
  if (row.generated == 0) row.first_token = Sequence::Clock::now();
  ++row.generated;
  ++counters_.completion_tokens;
  const TokenId id = sampled.id;
  const auto finished = finish_after(row, id);
  if (row.request.stop_ids.contains(id)) {
    return end(row, {.reason = FinishReason::stop, .stop_id = id});
  }
  row.tokens.push_back(id);
  row.stream->push(std::move(sampled));
  if (finished) end(row, {.reason = *finished});
}

void Scheduler::end(Sequence& row, Finish finish) {
  if (!row.stream) return;
  if (prompt_cache_ && finish.reason != FinishReason::error) prompt_cache_->finish(row);
  finish.usage = usage_of(row, Sequence::Clock::now());
  ++(finish.reason == FinishReason::cancelled ? counters_.cancelled : counters_.finished);
  --counters_.active;
  row.stream->push(std::move(finish));
  row.stream.reset();
}

void Scheduler::remove_ended() {
  std::erase_if(rows_, [](const auto& row) { return !row->stream; });
  if (rows_.empty()) counters_.kv_bytes = 0;
}

void Scheduler::fail_rows(const std::vector<Row>& plan, const std::string& what) {
  log::error("a step failed: {}", what);
  for (const auto& row : plan) {
    end(find(row.id), {.reason = FinishReason::error,
                       .error = Error{ErrorCode::internal, "the step failed: " + what, {}}});
  }
}

}  // namespace hearth::engine
