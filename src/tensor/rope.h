// Rotary position embedding and its scaled variants.
#pragma once

#include <optional>

#include "base/json.h"
#include "tensor/array.h"
#include "tensor/kernels/kernels.h"

namespace hearth::tensor {

struct RopeSettings {
  int dims = 0;
  float base = 10000;
  bool traditional = false;
  Json scaling;                     // config.json rope_scaling; null for none
  int max_position_embeddings = 0;  // longrope's factor
  bool tabulated = false;           // frequencies as a table even where the base alone would do
  // Queries at position p are times 1 + growth · ln(1 + ⌊p / from⌋). Source: mlx-lm
  // models/ministral3.py, _get_llama_4_attn_scale.
  float query_growth = 0;
  int query_growth_from = 0;
};

/// Source: arXiv 2104.09864, eq. 34; mlx-lm models/rope_utils.py for the variants.
class Rope {
 public:
  /// @throws std::invalid_argument for an unknown or incomplete rope_scaling, naming the type
  explicit Rope(const RopeSettings& settings);
  /// No rotation. Source: mlx-lm models/smollm3.py, NoPE.
  Rope() = default;

  /// @param x       [1, H, L, Dh], any float; the first `dims` of Dh turn
  /// @param offset  position of the first token
  /// @return        shape and dtype of x
  Array operator()(const Array& x, int offset) const;

  /// The same for queries, which may also grow with their position.
  Array queries(const Array& q, int offset) const;

  /// The same rotation for the attention kernel.
  const kernels::RopeTable& table() const { return table_; }

 private:
  void linear(float factor);
  void llama3(const Json& scaling);
  void yarn(const Json& scaling);
  void longrope(const Json& scaling);
  void proportional(const Json& scaling);
  void dynamic(const Json& scaling);
  float base_at(int tokens) const;
  void use_frequencies(const Array& freqs);

  RopeSettings settings_;
  float scale_ = 1.0f;        // of the position
  float input_scale_ = 1.0f;  // of the rotated dims, before rotation
  bool always_scale_input_ = false;
  float dynamic_factor_ = 0;    // 0: the base does not depend on the length
  std::optional<Array> freqs_;  // [dims/2] f32; none: from the base
  kernels::RopeTable table_;
};

}  // namespace hearth::tensor
