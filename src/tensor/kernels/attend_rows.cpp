// Splits the attention of a step into units of queries, and of blocks where the past is long.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tensor/kernels/attend_simd.h"
#include "tensor/kernels/attend_work.h"
#include "tensor/kernels/thread_pool.h"

namespace hearth::kernels {
namespace {

constexpr int queries_at_once = 24;    // of a unit, so that their scores stay near
constexpr int split_tokens = 16;       // a row with at most so many tokens is split by blocks
constexpr double serial_work = 1.5e5;  // multiply-adds done before a worker wakes

/// Some tokens of a row with one kv head: over all blocks, or over one with the result kept apart.
struct Unit {
  const RowWork* row;
  int kv_head;
  int first, tokens;           // of the row
  int first_block, end_block;  // of the sequence
  std::size_t kept = 0;        // queries before this unit's in the partial results kept apart
  bool whole = true;
};

/// Results of some queries over part of the past.
struct Partials {
  float* maxima;
  float* sums;  // [queries][partial_width]
};

class Attention {
 public:
  Attention(const AttendWork& work, const float* queries, const float* sinks, float* out)
      : work_(work), queries_(queries), sinks_(sinks), out_(out), group_(work.heads_per_kv()),
        dim_(work.options.head_dim), padded_(work.layout.padded_dim()),
        width_(partial_width(padded_)) {
    for (const auto& row : work.rows) add_units(row);
  }

  void run() {
    struct Use;
    const std::size_t bytes = kept_ * (width_ + block_lanes) * sizeof(float);
    float* memory = reinterpret_cast<float*>(scratch<Use>(bytes));
    const Partials kept{.maxima = memory + kept_ * width_, .sums = memory};
    for_each_task(units_.size(), multiply_adds_ > serial_work, [&](std::size_t i) {
      const Unit& unit = units_[i];
      if (unit.whole) return attend_all(unit);
      attend_one(unit, unit.first_block, {kept.maxima + unit.kept, kept.sums + unit.kept * width_});
    });
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (!units_[i].whole && units_[i].first_block == first_block(units_[i])) merge_kept(i, kept);
    }
  }

 private:
  int first_seen(int position) const {
    return work_.window == 0 ? 0 : std::max(0, position - work_.window + 1);
  }
  int first_block(const Unit& unit) const {
    return first_seen(unit.row->append.start + unit.first) / tokens_in_block;
  }

  void add_units(const RowWork& row) {
    const int length = row.append.length;
    const int at_once = std::max(1, queries_at_once / group_);
    for (int head = 0; head < work_.options.kv_heads; ++head) {
      for (int first = 0; first < length; first += at_once) {
        Unit unit{.row = &row,
                  .kv_head = head,
                  .first = first,
                  .tokens = std::min(at_once, length - first),
                  .first_block = 0,
                  .end_block = 0};
        const int last = row.append.start + first + unit.tokens - 1;
        unit.first_block = first_block(unit);
        unit.end_block = last / tokens_in_block + 1;
        const int past = last + 1 - first_seen(last);
        multiply_adds_ += 2.0 * unit.tokens * group_ * dim_ * past;
        add_unit(unit, length <= split_tokens);
      }
    }
  }

  void add_unit(Unit unit, bool split) {
    if (!split || unit.end_block - unit.first_block == 1) return units_.push_back(unit);
    unit.whole = false;
    for (const int end = unit.end_block; unit.first_block < end; ++unit.first_block) {
      unit.end_block = unit.first_block + 1;
      unit.kept = kept_;
      units_.push_back(unit);
      kept_ += static_cast<std::size_t>(unit.tokens) * group_;
    }
  }

  Seen seen(const Unit& unit, int token, int block) const {
    const int position = unit.row->append.start + unit.first + token;
    const int start = block * tokens_in_block;
    return {std::clamp(first_seen(position) - start, 0, tokens_in_block),
            std::clamp(position + 1 - start, 0, tokens_in_block)};
  }

  /// The unit's queries over one block; nothing is written for those that see none of it.
  void attend_one(const Unit& unit, int block, Partials result) const {
    struct Use;
    const std::size_t queries = static_cast<std::size_t>(unit.tokens) * group_;
    float* scores = reinterpret_cast<float*>(
        scratch<Use>(queries * tokens_in_block * sizeof(float) + unit.tokens * sizeof(Seen)));
    auto* ranges = reinterpret_cast<Seen*>(scores + queries * tokens_in_block);
    for (int t = 0; t < unit.tokens; ++t) ranges[t] = seen(unit, t, block);
    const std::size_t first =
        static_cast<std::size_t>(unit.kv_head) * work_.tokens + unit.row->base + unit.first;
    BlockJob job{.keys = {},
                 .values = {},
                 .head_dim = dim_,
                 .padded_dim = padded_,
                 .tokens = unit.tokens,
                 .heads = group_,
                 .queries = queries_ + first * group_ * dim_,
                 .seen = ranges,
                 .softcap = work_.options.softcap,
                 .scores = scores,
                 .maxima = result.maxima,
                 .partials = result.sums};
    const PageTable& table = *unit.row->append.table;
    for (int i = 0; i < pages_in_block; ++i) {
      const int page = block * pages_in_block + i;
      if (page < table.first || page >= table.end()) continue;
      job.keys[i] = table.of_page(page).keys(work_.layout, unit.kv_head);
      job.values[i] = table.of_page(page).values(work_.layout, unit.kv_head);
    }
    attend_block(job);
  }

  /// Merges a block's results into `all`; `any` says of each token whether it has some already.
  void merge(const Unit& unit, int block, Partials from, Partials all,
             std::vector<bool>& any) const {
    for (int t = 0; t < unit.tokens; ++t) {
      if (!seen(unit, t, block).any()) continue;
      for (std::size_t q = static_cast<std::size_t>(t) * group_; q < (t + 1u) * group_; ++q) {
        if (any[t]) {
          merge_partial(all.maxima[q], all.sums + q * width_, from.maxima[q],
                        from.sums + q * width_, width_);
        } else {
          all.maxima[q] = from.maxima[q];
          std::copy_n(from.sums + q * width_, width_, all.sums + q * width_);
        }
      }
      any[t] = true;
    }
  }

  void finish(const Unit& unit, Partials all) const {
    for (int t = 0; t < unit.tokens; ++t) {
      const std::size_t flat = unit.row->flat_start + unit.first + t;
      for (int g = 0; g < group_; ++g) {
        const std::size_t head = static_cast<std::size_t>(unit.kv_head) * group_ + g;
        const std::size_t q = static_cast<std::size_t>(t) * group_ + g;
        finish_partial(all.maxima[q], all.sums + q * width_, padded_, dim_,
                       sinks_ == nullptr ? nullptr : sinks_ + head,
                       out_ + (flat * work_.options.heads + head) * dim_);
      }
    }
  }

  void attend_all(const Unit& unit) const {
    struct Use;
    const std::size_t queries = static_cast<std::size_t>(unit.tokens) * group_;
    float* memory =
        reinterpret_cast<float*>(scratch<Use>(2 * queries * (width_ + 1) * sizeof(float)));
    const Partials all{.maxima = memory + 2 * queries * width_, .sums = memory};
    const Partials one{.maxima = all.maxima + queries, .sums = memory + queries * width_};
    std::vector<bool> any(unit.tokens, false);
    for (int block = unit.first_block; block < unit.end_block; ++block) {
      attend_one(unit, block, one);
      merge(unit, block, one, all, any);
    }
    finish(unit, all);
  }

  /// Merges the units of one set of queries, of which unit `first` has the first block.
  void merge_kept(std::size_t first, Partials kept) const {
    const Unit& unit = units_[first];
    const auto of = [&](std::size_t i) {
      return Partials{kept.maxima + units_[i].kept, kept.sums + units_[i].kept * width_};
    };
    std::vector<bool> any(unit.tokens, false);
    const int blocks = (unit.row->append.start + unit.first + unit.tokens - 1) / tokens_in_block +
                       1 - unit.first_block;
    for (int b = 0; b < blocks; ++b) {
      merge(unit, unit.first_block + b, of(first + b), of(first), any);
    }
    finish(unit, of(first));
  }

  const AttendWork& work_;
  const float* queries_;
  const float* sinks_;  // [heads], or none
  float* out_;
  int group_, dim_, padded_, width_;
  std::vector<Unit> units_;
  std::size_t kept_ = 0;
  double multiply_adds_ = 0;
};

}  // namespace

void attend_rows(const AttendWork& work, const float* queries, const float* sinks, float* out) {
  Attention(work, queries, sinks, out).run();
}

}  // namespace hearth::kernels
