// Attention of some queries over one block of keys and values, per instruction set.
//
// A block is 8 pages, 512 tokens, at a fixed place in the sequence. Within it the scores are
// computed, then one softmax, then the weighted sum of the values from the first token to the last;
// blocks are merged in order. So neither the number of queries nor of threads changes a result.
#pragma once

#include <cstdint>

#include "tensor/kernels/paged_kv.h"
#include "tensor/kernels/simd.h"

namespace hearth::kernels {

inline constexpr int pages_in_block = 8;
inline constexpr int tokens_in_block = pages_in_block * page_tokens;

/// Width of a query's partial result: the weighted sum of values [padded_dim], the sum of the
/// weights, padding.
constexpr int partial_width(int padded_dim) { return padded_dim + block_lanes; }

/// Tokens of a block that a query sees, counted from the block's first token.
struct Seen {
  int first = 0, end = 0;
  bool operator==(const Seen&) const = default;
  bool any() const { return first < end; }
};

struct BlockJob {
  const std::uint16_t* keys[pages_in_block];    // of each page: [head_dim][64]
  const std::uint16_t* values[pages_in_block];  // of each page: [64][padded_dim]
  int head_dim, padded_dim;
  int tokens, heads;     // queries: heads of the first token, then of the next
  const float* queries;  // [tokens · heads][head_dim], scaled
  const Seen* seen;      // [tokens]
  float softcap;         // 0: none
  float* scores;         // [tokens · heads][512], scratch
  float* maxima;         // out [tokens · heads]
  float* partials;       // out [tokens · heads][partial_width]; nothing where nothing is seen
};

void attend_block(const BlockJob& job);

/// Merges a later block's partial result into `maximum` and `partial`.
void merge_partial(float& maximum, float* partial, float block_maximum, const float* block,
                   int width);

/// out [head_dim] = weighted sum / sum of weights; a sink, where there is one, is a weight more.
void finish_partial(float maximum, const float* partial, int padded_dim, int head_dim,
                    const float* sink, float* out);

}  // namespace hearth::kernels
