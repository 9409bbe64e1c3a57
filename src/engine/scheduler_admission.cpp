// The scheduler's beginning of a row: who may start, and from where.
#include <random>

#include "base/log.h"
#include "engine/scheduler.h"

namespace hearth::engine {
namespace {

std::uint64_t fresh_seed() {
  thread_local std::random_device device;
  return (std::uint64_t(device()) << 32) | device();
}

}  // namespace

bool Scheduler::may_start(const Job& job) const {
  if (job.alone) return rows_.empty();
  return int(rows_.size()) < options_.max_rows &&
         joins(counters_.kv_projected, job.grant.kv_bytes, options_.kv_budget);
}

void Scheduler::admit() {
  while (!waiting_.empty() && may_start(waiting_.front())) {
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    ++counters_.active;
    --counters_.waiting;
    if (job.alone) {
      run_alone(*job.alone);
      continue;
    }
    try {
      start(job);
    } catch (const std::exception& e) {
      refuse(job, e.what());
    }
  }
}

/// A job that could not be made a row.
void Scheduler::refuse(Job& job, const std::string& what) {
  log::error("a request could not be admitted: {}", what);
  --counters_.active;
  ++counters_.finished;
  job.claim.reset();
  job.stream->push(Finish{
      .reason = FinishReason::error,
      .usage = {.prompt_tokens = int(job.request.prompt.size())},
      .error = Error{ErrorCode::internal, "the request could not be admitted: " + what, {}}});
}

void Scheduler::run_alone(LoneJob& job) {
  auto outcome = [&]() -> Result<void> {
    try {
      return job.work(model_);
    } catch (const std::exception& e) {
      return fail(ErrorCode::internal, e.what());
    }
  }();
  --counters_.active;
  job.done.set_value(std::move(outcome));
}

/// Moves from `job` only once nothing can fail any more.
void Scheduler::start(Job& job) {
  auto row = std::make_unique<Sequence>();
  rows_.reserve(rows_.size() + 1);
  row->id = next_id_++;
  row->seed = job.request.sampling.seed.value_or(fresh_seed());
  row->token_limit = job.grant.token_limit;
  row->kv_projected = job.grant.kv_bytes;
  row->cache = tensor::make_sequence_cache(cache_specs_, kernels_);
  row->tokens = job.request.prompt;
  row->submitted = job.submitted;
  row->admitted = Sequence::Clock::now();
  if (job.claim && job.claim->found()) resume(*row, job);
  row->claim = std::move(job.claim);
  row->request = std::move(job.request);
  row->stream = std::move(job.stream);
  counters_.kv_projected += row->kv_projected;
  rows_.push_back(std::move(row));
}

void Scheduler::resume(Sequence& row, const Job& job) {
  const auto& found = *job.claim->found();
  row.seed = found.seed;
  row.tokens.insert(row.tokens.end(), found.tokens.begin(), found.tokens.end());
  row.replayed = row.generated = int(found.tokens.size());
  row.first_token = row.admitted;
  for (const TokenId id : found.tokens) job.stream->push(Sampled{.id = id});
  job.claim->resumed();
}

}  // namespace hearth::engine
