#include "engine/scheduler.h"

#include <algorithm>
#include <numeric>

#include "base/log.h"
#include "engine/row_sampler.h"

namespace hearth::engine {

namespace mx = mlx::core;

namespace {

constexpr int scored_at_once = 128;  // tokens whose logits are held together
constexpr auto between_counts = std::chrono::milliseconds(200);

}  // namespace

Scheduler::Scheduler(const models::Model& model, const EngineOptions& options, bool kernels,
                     PromptCache* prompt_cache, Counters& counters)
    : model_(model), options_(options), kernels_(kernels), cache_specs_(model.caches()),
      runner_(model, options.tier == Tier::fast), prompt_cache_(prompt_cache), counters_(counters),
      pace_(options.step_tokens) {}

void Scheduler::run(Inbox<Job>& inbox, std::stop_token stop) {
  while (!stop.stop_requested()) {
    enqueue(idle() ? inbox.wait(stop) : inbox.drain());
    try {
      turn();
    } catch (const std::exception& e) {
      log::error("a step failed, and all rows with it: {}", e.what());
      for (auto& row : rows_) fail_row(*row, std::string("the step failed: ") + e.what());
      remove_ended();
    }
    check_invariants();
  }
  enqueue(inbox.drain());
  for (auto& row : rows_) end(*row, {.reason = FinishReason::cancelled});
  remove_ended();
  for (auto& job : waiting_) give_up(job);
  waiting_.clear();
}

void Scheduler::turn() {
  drop_cancelled();
  admit();
  if (!rows_.empty()) step();
  remove_ended();
}

void Scheduler::enqueue(std::vector<Job> jobs) {
  for (auto& job : jobs) waiting_.push_back(std::move(job));
}

/// A job that never ran.
void Scheduler::give_up(Job& job) {
  --counters_.waiting;
  if (job.alone) {
    return job.alone->done.set_value(fail(ErrorCode::cancelled, "the engine is stopping"));
  }
  ++counters_.cancelled;
  job.claim.reset();
  job.stream->push(Finish{.reason = FinishReason::cancelled,
                          .usage = {.prompt_tokens = int(job.request.prompt.size())}});
}

void Scheduler::drop_cancelled() {
  std::erase_if(waiting_, [&](Job& job) {
    if (job.alone || !job.stream->cancelled()) return false;
    give_up(job);
    return true;
  });
  for (auto& row : rows_) {
    if (row->stream->cancelled()) end(*row, {.reason = FinishReason::cancelled});
  }
  remove_ended();
}

Sequence& Scheduler::find(std::uint64_t id) const {
  return **std::ranges::find(rows_, id, [](const auto& row) { return row->id; });
}

std::vector<Row> Scheduler::plan() const {
  std::vector<Candidate> candidates;
  for (const auto& row : rows_) {
    if (!row->waits_for_files) candidates.push_back(row->candidate());
  }
  const bool waited_for = std::ranges::any_of(candidates, &Candidate::decoding);
  auto plan = options_.tier == Tier::l1 ? plan_l1_step(candidates, options_.prefill_chunk)
                                        : plan_step(candidates, pace_.budget(waited_for));
  for (Row& planned : plan) {
    const auto& row = find(planned.id);
    if (row.scores_prompt()) planned.tokens = std::min(planned.tokens, scored_at_once);
    if (options_.tier == Tier::l1) planned.tokens = std::min(planned.tokens, row.l1_step_limit());
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
  int prefilled = 0;
  std::vector<RowWork> work;
  std::vector<MaskJob> masks;  // one for each row that is sampled
  for (const auto& [id, tokens] : plan) {
    auto& row = find(id);
    work.push_back(work_of(row, tokens));
    if (row.samples_after(tokens)) masks.push_back({row.request.mask.get()});
  }
  const auto began = Sequence::Clock::now();
  const auto logits = forward(work, masks);
  const std::chrono::duration<double> took = Sequence::Clock::now() - began;
  pace_.took(std::accumulate(plan.begin(), plan.end(), 0,
                             [](int sum, const Row& row) { return sum + row.tokens; }),
             took.count());
  ++counters_.steps;
  auto mask = masks.begin();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    auto& row = find(plan[i].id);
    const MaskJob* own = row.samples_after(plan[i].tokens) ? &*mask++ : nullptr;
    if (!row.decoding()) prefilled += plan[i].tokens;
    try {
      advance(row, plan[i].tokens, logits[i], own);
    } catch (const std::exception& e) {
      fail_row(row, std::string("the step failed: ") + e.what());
    }
  }
  if (prompt_cache_) prompt_cache_->note_prefill(prefilled, took);
  count_bytes();
}

std::vector<RowLogits> Scheduler::forward(const std::vector<RowWork>& work,
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

void Scheduler::advance(Sequence& row, int tokens, const RowLogits& logits, const MaskJob* mask) {
  if (!logits) return fail_row(row, "the step failed: " + logits.error());
  if (row.scores_prompt()) score_prompt(row, *logits, row.forwarded, options_.tier);
  row.forwarded += tokens;
  if (!row.decoding()) counters_.prompt_tokens += tokens;
  if (prompt_cache_) prompt_cache_->publish(row);
  if (mask) sample_row(row, logits->back(), *mask);
}

/// What rows share is counted once. Looking through all pages takes a while, so it is done now and
/// then, and when a row came or went.
void Scheduler::count_bytes() {
  const auto now = Sequence::Clock::now();
  if (rows_.size() == counted_rows_ && now - counted_at_ < between_counts) return;
  counted_rows_ = rows_.size();
  counted_at_ = now;
  std::vector<tensor::Memory> memory;
  for (const auto& row : rows_) {
    for (const auto& cache : row->cache) cache->collect_memory(memory);
  }
  counters_.kv_bytes = tensor::distinct_bytes(memory);
}

void Scheduler::sample_row(Sequence& row, const tensor::Array& logits, const MaskJob& mask) {
  const auto broken = [&](std::string words) { fail_row(row, std::move(words)); };
  if (!mask.words) return broken("the constraint failed: " + mask.words.error().message);
  auto sampled = sample_next(row, logits, *mask.words, options_.tier);
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
  if (finished) return end(row, {.reason = *finished});
  checkpoint(row);
}

void Scheduler::checkpoint(Sequence& row) {
  if (!row.claim || !row.claim->due(row.generated)) return;
  if (prompt_cache_) prompt_cache_->save_so_far(row);
  row.claim->save(row.seed, row.answer());
}

void Scheduler::end(Sequence& row, Finish finish) {
  if (!row.stream) return;
  if (prompt_cache_ && finish.reason != FinishReason::error) prompt_cache_->finish(row);
  const bool cut = finish.reason == FinishReason::cancelled && !row.stream->satisfied();
  if (row.claim && !cut) row.claim->finished();
  row.claim.reset();
  finish.usage = usage_of(row, Sequence::Clock::now());
  ++(finish.reason == FinishReason::cancelled ? counters_.cancelled : counters_.finished);
  --counters_.active;
  counters_.kv_projected -= row.kv_projected;
  row.stream->push(std::move(finish));
  row.stream.reset();
}

void Scheduler::remove_ended() {
  std::erase_if(rows_, [](const auto& row) { return !row->stream; });
  if (!rows_.empty()) return;
  counters_.kv_bytes = 0;
  counted_rows_ = 0;
}

void Scheduler::fail_row(Sequence& row, std::string what) {
  end(row,
      {.reason = FinishReason::error, .error = Error{ErrorCode::internal, std::move(what), {}}});
}

}  // namespace hearth::engine
