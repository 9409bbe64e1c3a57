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
};

/// Source: arXiv 2104.09864, eq. 34; mlx-lm models/rope_utils.py for the variants.
class Rope {
 public:
  /// @throws std::invalid_argument for an unknown or incomplete rope_scaling, naming the type
  explicit Rope(const RopeSettings& settings);

  /// @param x       [1, H, L, Dh], any float; the first `dims` of Dh turn
  /// @param offset  position of the first token
  /// @return        shape and dtype of x
  Array operator()(const Array& x, int offset) const;

  /// The same rotation for the attention kernel.
  const kernels::RopeTable& table() const { return table_; }

 private:
  void linear(float factor);
  void llama3(const Json& scaling);
  void yarn(const Json& scaling);
  void longrope(const Json& scaling);
  void proportional(const Json& scaling);
  void use_frequencies(const Array& freqs);

  RopeSettings settings_;
  float scale_ = 1.0f;        // of the position
  float input_scale_ = 1.0f;  // of the rotated dims, before rotation
  bool always_scale_input_ = false;
  std::optional<Array> freqs_;  // [dims/2] f32; none: from the base
  kernels::RopeTable table_;
};

}  // namespace hearth::tensor
