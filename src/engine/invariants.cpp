// What must hold between two steps, checked after each one in builds with assertions.
#include <algorithm>
#include <cassert>

#include "engine/scheduler.h"

namespace hearth::engine {
namespace {

/// Every layer has written what was forwarded, and no token was lost or counted twice.
[[maybe_unused]] void check_row(const Sequence& row) {
  assert(row.stream);
  assert(row.forwarded >= 0 && row.forwarded <= int(row.tokens.size()));
  assert(int(row.tokens.size()) == row.prompt_tokens() + row.generated);
  assert(row.generated < row.token_limit);
  assert(!row.decoding() || row.forwarded + 1 == int(row.tokens.size()));
  for ([[maybe_unused]] const auto& cache : row.cache) assert(cache->offset() == row.forwarded);
}

}  // namespace

void Scheduler::check_invariants() const {
#ifndef NDEBUG
  std::uint64_t last_id = 0;
  std::size_t projected = 0;
  for (const auto& row : rows_) {
    check_row(*row);
    assert(row->id > last_id && row->id < next_id_);  // in order of arrival, none twice
    last_id = row->id;
    projected += row->kv_projected;
  }
  assert(int(rows_.size()) <= options_.max_rows);
  assert(counters_.active == int(rows_.size()));
  assert(counters_.waiting >= int(waiting_.size()));  // the inbox has the others
  assert(counters_.kv_projected == projected);
  assert(options_.kv_budget == 0 || projected <= options_.kv_budget);
  assert(!rows_.empty() || counters_.kv_bytes == 0);
  assert(counters_.submitted >= counters_.finished + counters_.cancelled);
#endif
}

}  // namespace hearth::engine
