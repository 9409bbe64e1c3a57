#include "tensor/kernels/attend_simd.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/attend_simd.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tensor/kernels/floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::kernels {
namespace HWY_NAMESPACE {

constexpr int strip = 2 * block_lanes;  // tokens or dimensions computed together
constexpr int max_queries = 3;          // queries computed together: 12 sums of 8 lanes on AVX2

/// Scores of R queries with `Lanes` neighbouring tokens: one chain over the dimensions each.
template <int R, int Lanes>
HWY_NOINLINE void score_strip(const float* HWY_RESTRICT queries, int head_dim,
                              const std::uint16_t* HWY_RESTRICT keys, float* HWY_RESTRICT scores) {
  constexpr int vectors = Lanes / f32_lanes;
  const F32 d;
  VF sums[R][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) sums[r][j] = hn::Zero(d);
  }
  for (int i = 0; i < head_dim; ++i) {
    VF q[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) q[r] = hn::Set(d, queries[r * head_dim + i]);
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      const VF k = StoredF16::load(d, keys + i * page_tokens + j * f32_lanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) sums[r][j] = hn::MulAdd(q[r], k, sums[r][j]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      hn::StoreU(sums[r][j], d, scores + r * tokens_in_block + j * f32_lanes);
    }
  }
}

/// Scores of `count` queries with a page.
void score_page(const float* queries, int count, int head_dim, const std::uint16_t* keys,
                float* scores) {
  for (int t = 0; t < page_tokens; t += strip) {
    for (int q = 0; q < count; q += max_queries) {
      const float* from = queries + static_cast<std::size_t>(q) * head_dim;
      float* to = scores + static_cast<std::size_t>(q) * tokens_in_block + t;
      switch (std::min(max_queries, count - q)) {
        case 1:
          score_strip<1, strip>(from, head_dim, keys + t, to);
          break;
        case 2:
          score_strip<2, strip>(from, head_dim, keys + t, to);
          break;
        default:
          score_strip<3, strip>(from, head_dim, keys + t, to);
      }
    }
  }
}

/// Adds tokens [first, end) of a page, weighted, to the sums of R queries over `Lanes` dimensions.
template <int R, int Lanes>
HWY_NOINLINE void value_strip(const float* HWY_RESTRICT weights,
                              const std::uint16_t* HWY_RESTRICT values, int padded_dim, int first,
                              int end, float* HWY_RESTRICT sums_out, int width) {
  constexpr int vectors = Lanes / f32_lanes;
  const F32 d;
  VF sums[R][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j)
      sums[r][j] = hn::LoadU(d, sums_out + r * width + j * f32_lanes);
  }
  for (int t = first; t < end; ++t) {
    VF p[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) p[r] = hn::Set(d, weights[r * tokens_in_block + t]);
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      const VF v = StoredF16::load(d, values + t * padded_dim + j * f32_lanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) sums[r][j] = hn::MulAdd(p[r], v, sums[r][j]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      hn::StoreU(sums[r][j], d, sums_out + r * width + j * f32_lanes);
    }
  }
}

template <int Lanes>
void value_columns(const float* weights, int count, const std::uint16_t* values, int padded_dim,
                   Seen seen, float* sums) {
  const int width = partial_width(padded_dim);
  for (int q = 0; q < count; q += max_queries) {
    const float* from = weights + static_cast<std::size_t>(q) * tokens_in_block;
    float* to = sums + static_cast<std::size_t>(q) * width;
    switch (std::min(max_queries, count - q)) {
      case 1:
        value_strip<1, Lanes>(from, values, padded_dim, seen.first, seen.end, to, width);
        break;
      case 2:
        value_strip<2, Lanes>(from, values, padded_dim, seen.first, seen.end, to, width);
        break;
      default:
        value_strip<3, Lanes>(from, values, padded_dim, seen.first, seen.end, to, width);
    }
  }
}

/// Adds the tokens of a page that `count` queries all see, weighted, to their sums.
void value_page(const float* weights, int count, const std::uint16_t* values, int padded_dim,
                Seen seen, float* sums) {
  int column = 0;
  for (; column + strip <= padded_dim; column += strip) {
    value_columns<strip>(weights, count, values + column, padded_dim, seen, sums + column);
  }
  if (column < padded_dim) {
    value_columns<block_lanes>(weights, count, values + column, padded_dim, seen, sums + column);
  }
}

/// scores = c · tanh(score / c), by tanh t = 1 - 2 / (1 + e^(2t))
void cap_scores(float* HWY_RESTRICT scores, int count, float softcap) {
  const F32 d;
  const VF one = hn::Set(d, 1.0f), two = hn::Set(d, 2.0f);
  const VF cap = hn::Set(d, softcap), inverse = hn::Set(d, 2.0f / softcap);
  for (int i = 0; i < count; i += f32_lanes) {
    const VF grown = exp(d, hn::Mul(hn::LoadU(d, scores + i), inverse));
    const VF tanh = hn::Sub(one, hn::Div(two, hn::Add(one, grown)));
    hn::StoreU(hn::Mul(cap, tanh), d, scores + i);
  }
}

/// Turns the scores of a query into weights e^(score - max).
/// @return {max, sum of the weights}
std::pair<float, float> soften(float* HWY_RESTRICT scores, Seen seen, float softcap) {
  const F32 d;
  const int begin = seen.first / page_tokens * page_tokens;
  const int end = (seen.end + page_tokens - 1) / page_tokens * page_tokens;
  if (softcap > 0) cap_scores(scores + begin, end - begin, softcap);
  constexpr float unseen = -std::numeric_limits<float>::infinity();
  std::fill(scores + begin, scores + seen.first, unseen);
  std::fill(scores + seen.end, scores + end, unseen);
  VF most = hn::Set(d, unseen);
  for (int i = begin; i < end; i += f32_lanes) most = hn::Max(most, hn::LoadU(d, scores + i));
  const VF maximum = hn::MaxOfLanes(d, most);
  VF sums[2] = {hn::Zero(d), hn::Zero(d)};
  for (int i = begin; i < end; i += 2 * f32_lanes) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      float* at = scores + i + j * f32_lanes;
      const VF weight = exp(d, hn::Sub(hn::LoadU(d, at), maximum));
      hn::StoreU(weight, d, at);
      sums[j] = hn::Add(sums[j], weight);
    }
  }
  return {hn::GetLane(maximum), hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[0], sums[1])))};
}

/// What of a page is seen, counted from the page's first token.
Seen within_page(Seen seen, int page) {
  const int start = page * page_tokens;
  return {std::clamp(seen.first - start, 0, page_tokens),
          std::clamp(seen.end - start, 0, page_tokens)};
}

/// Calls use(first token, tokens, seen) for neighbouring tokens that see the same of a page.
template <class Use>
void for_each_run(const BlockJob& job, int page, const Use& use) {
  for (int t = 0; t < job.tokens;) {
    const Seen seen = within_page(job.seen[t], page);
    int end = t + 1;
    while (end < job.tokens && within_page(job.seen[end], page) == seen) ++end;
    if (seen.any()) use(t, end - t, seen);
    t = end;
  }
}

void score_pages(const BlockJob& job) {
  for (int page = 0; page < pages_in_block; ++page) {
    int first = 0, end = job.tokens;  // tokens that see some of the page
    while (first < end && !within_page(job.seen[first], page).any()) ++first;
    while (first < end && !within_page(job.seen[end - 1], page).any()) --end;
    if (first == end) continue;
    const std::size_t query = static_cast<std::size_t>(first) * job.heads;
    score_page(job.queries + query * job.head_dim, (end - first) * job.heads, job.head_dim,
               job.keys[page], job.scores + query * tokens_in_block + page * page_tokens);
  }
}

void AttendBlock(const BlockJob& job) {
  const int width = partial_width(job.padded_dim);
  score_pages(job);
  for (int t = 0; t < job.tokens; ++t) {
    if (!job.seen[t].any()) continue;
    for (int q = t * job.heads; q < (t + 1) * job.heads; ++q) {
      float* partial = job.partials + static_cast<std::size_t>(q) * width;
      std::fill_n(partial, width, 0.0f);
      const auto [maximum, sum] = soften(job.scores + static_cast<std::size_t>(q) * tokens_in_block,
                                         job.seen[t], job.softcap);
      job.maxima[q] = maximum;
      partial[job.padded_dim] = sum;
    }
  }
  for (int page = 0; page < pages_in_block; ++page) {
    for_each_run(job, page, [&](int first, int tokens, Seen seen) {
      const std::size_t query = static_cast<std::size_t>(first) * job.heads;
      value_page(job.scores + query * tokens_in_block + page * page_tokens, tokens * job.heads,
                 job.values[page], job.padded_dim, seen, job.partials + query * width);
    });
  }
}

void MergePartial(float& maximum, float* HWY_RESTRICT partial, float block_maximum,
                  const float* HWY_RESTRICT block, int width) {
  const F32 d;
  const float most = std::max(maximum, block_maximum);
  const VF keep = hn::Set(d, exp_of(maximum - most));
  const VF take = hn::Set(d, exp_of(block_maximum - most));
  for (int i = 0; i < width; i += f32_lanes) {
    const VF kept = hn::Mul(hn::LoadU(d, partial + i), keep);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, block + i), take, kept), d, partial + i);
  }
  maximum = most;
}

void FinishPartial(float maximum, const float* partial, int padded_dim, int head_dim,
                   const float* sink, float* out) {
  float sum = partial[padded_dim], keep = 1;
  if (sink != nullptr) {
    const float most = std::max(maximum, *sink);
    keep = exp_of(maximum - most);
    sum = sum * keep + exp_of(*sink - most);
  }
  for (int i = 0; i < head_dim; ++i) out[i] = partial[i] * keep / sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::kernels {

HWY_EXPORT(AttendBlock);
HWY_EXPORT(MergePartial);
HWY_EXPORT(FinishPartial);

void attend_block(const BlockJob& job) { HWY_DYNAMIC_DISPATCH(AttendBlock)(job); }

void merge_partial(float& maximum, float* partial, float block_maximum, const float* block,
                   int width) {
  HWY_DYNAMIC_DISPATCH(MergePartial)(maximum, partial, block_maximum, block, width);
}

void finish_partial(float maximum, const float* partial, int padded_dim, int head_dim,
                    const float* sink, float* out) {
  HWY_DYNAMIC_DISPATCH(FinishPartial)(maximum, partial, padded_dim, head_dim, sink, out);
}

}  // namespace hearth::kernels
#endif  // HWY_ONCE
