// Keys and values of one layer of one sequence: what every cache kind answers.
#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/array.h"
#include "tensor/cache/kv_block.h"

namespace hearth::tensor {

class DeviceKvCache;
class PagedKvCache;

/// A piece of a cache's memory, which other caches may hold as well.
struct Memory {
  const void* at;
  std::size_t bytes;
  auto operator<=>(const Memory&) const = default;
};

/// Bytes of the pieces, each counted once. They are sorted.
std::size_t distinct_bytes(std::vector<Memory>& memory);

/// How queries and keys become weights.
struct Scoring {
  float scale = 1;                  // of q·k
  float softcap = 0;                // c: scores become c · tanh(score / c); 0: as they are
  std::optional<Array> sinks = {};  // [H]: a logit a head that takes weight and gives nothing
  /// What happens to queries and keys after rotation; null: nothing.
  std::function<std::pair<Array, Array>(const Array& q, const Array& k)> turned = {};
};

/// What the queries of a step see.
struct Past {
  Array keys, values;   // [1, Hk, S, Dh]
  bool causal = false;  // the last query sees everything, the one before it one token less
  std::optional<Array> mask = {};  // [L, S] bool, where that does not say it
};

/// Attention over a past. @param q [1, H, L, Dk]; @return [1, H, L, Dv] in q's dtype
/// Source: mx.fast.scaled_dot_product_attention; mlx-lm models/gemma2.py where there is a softcap.
Array attend_past(const Array& q, const Past& past, const Scoring& scoring);

class KvCache {
 public:
  virtual ~KvCache() = default;

  /// Tokens written since the start of the sequence: the position of the next one.
  virtual int offset() const = 0;

  /// Appends k and v, then attends causally over everything kept.
  /// @param q     [1, H, L, Dh], rotated; @param k, v [1, Hk, L, Dh], k rotated
  /// @return      [1, H, L, Dh] in q's dtype
  virtual Array attend(const Array& q, const Array& k, const Array& v, const Scoring& scoring) {
    return attend_past(q, append(k, v), scoring);
  }

  /// Appends alone, for layers that share keys and values or attend in their own way. Kinds that
  /// live in MLX arrays only. Source: mlx-lm models/cache.py, update_and_fetch and make_mask.
  virtual Past append(const Array& k, const Array& v) = 0;
  /// What append() of the last `length` tokens gave, for layers that read those of an earlier one.
  virtual Past latest(int length) const;

  /// Arrays that must be evaluated for the state to stand on its own.
  virtual void collect(std::vector<Array>& arrays) const = 0;

  /// Remembers the present state for roll_back(), until the next mark(). Costs next to nothing.
  virtual void mark() {}
  /// Back to mark(), also from a step that was not evaluated or failed half-way.
  /// @return false, with nothing changed, when this cache cannot
  virtual bool roll_back() { return false; }

  /// Forgets the newest n tokens.
  /// @return false, with nothing changed, when this cache cannot
  virtual bool trim(int n) = 0;

  virtual std::size_t bytes() const = 0;

  /// Adds what bytes() is made of, by where it lies: sequences may share some of it.
  virtual void collect_memory(std::vector<Memory>& memory) const {
    memory.push_back({this, bytes()});
  }

  /// What start() must be given.
  virtual PastNeeded past_needed() const = 0;

  /// Tokens of one block; block() may be asked for others only where the kind says so.
  virtual int block_tokens() const { return 256; }

  /// What was written of the tokens [from, to), kept apart from this cache. Their step must have
  /// been evaluated.
  /// @return null where this cache does not have it (any more)
  virtual KvBlockPtr block(int from, int to) const = 0;

  /// Makes an empty cache that of a sequence of `offset` tokens, of which `blocks` are the last:
  /// as many as past_needed() says, in order. Neither copies what it can share, nor ever changes
  /// a block.
  /// @return false, with nothing changed, where the blocks are of another kind or shape
  virtual bool start(std::span<const KvBlockPtr> blocks, int offset) = 0;

  /// A block from another's format and bytes, which may come from a file.
  /// @return null where they are not those of a block of this cache
  virtual KvBlockPtr parse_block(std::string_view format,
                                 std::span<const std::byte> bytes) const = 0;

  /// This cache as pages for the attention kernel; null for the kinds that live in MLX arrays.
  virtual PagedKvCache* paged() { return nullptr; }
  /// This cache as the arrays that the attention kernel on a device writes into; null for others.
  virtual DeviceKvCache* on_device() { return nullptr; }
};

/// What a model asks for each of its layers.
struct CacheSpec {
  int kv_heads = 0;
  int head_dim = 0;
  int window = 0;          // sliding attention: the last `window` tokens; 0: all
  bool both_ways = false;  // an encoder's layer: every token sees all of its only step, both ways
  // A recurrent layer instead: so many arrays, of so many numbers together.
  int states = 0;
  std::size_t state_size = 0;
  bool operator==(const CacheSpec&) const = default;
};

/// The cache kind for a layer: a state; on our kernels paged, or a device's; else contiguous or
/// rotating MLX arrays.
std::unique_ptr<KvCache> make_cache(const CacheSpec& spec, bool kernels);

}  // namespace hearth::tensor
