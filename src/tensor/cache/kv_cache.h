// Keys and values of one layer of one sequence: what every cache kind answers.
#pragma once

#include <memory>
#include <vector>

#include "tensor/array.h"

namespace hearth::tensor {

class PagedKvCache;

class KvCache {
 public:
  virtual ~KvCache() = default;

  /// Tokens written since the start of the sequence: the position of the next one.
  virtual int offset() const = 0;

  /// Appends k and v, then attends causally over everything kept.
  /// @param q     [1, H, L, Dh], rotated; @param k, v [1, Hk, L, Dh], k rotated
  /// @return      [1, H, L, Dh] in q's dtype
  /// Source: mlx-lm models/cache.py and mx.fast.scaled_dot_product_attention.
  virtual Array attend(const Array& q, const Array& k, const Array& v, float scale) = 0;

  /// Arrays that must be evaluated for the state to stand on its own.
  virtual void collect(std::vector<Array>& arrays) const = 0;

  /// Forgets the newest n tokens.
  /// @return false, with nothing changed, when this cache cannot
  virtual bool trim(int n) = 0;

  virtual std::size_t bytes() const = 0;

  /// This cache as pages for the attention kernel; null for the kinds that live in MLX arrays.
  virtual PagedKvCache* paged() { return nullptr; }
};

/// What a model asks for each of its layers.
struct CacheSpec {
  int kv_heads = 0;
  int head_dim = 0;
  int window = 0;  // sliding attention: the last `window` tokens; 0: all
  bool operator==(const CacheSpec&) const = default;
};

/// The cache kind for a layer: paged on our kernels, else contiguous or rotating MLX arrays.
std::unique_ptr<KvCache> make_cache(const CacheSpec& spec, bool kernels);

}  // namespace hearth::tensor
