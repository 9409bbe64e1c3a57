// The linear attention of Qwen3-Next and Qwen3.5: convolution, gated delta rule, gated norm.
#pragma once

#include "models/decoder.h"
#include "tensor/recurrent.h"

namespace hearth::models {

struct GatedDeltaNetSettings {
  int dims = 0;       // D
  int key_heads = 0;  // Hk, divides Hv
  int value_heads = 0;
  int key_dim = 0;  // of a head
  int value_dim = 0;
  int kernel = 4;  // tokens that the convolution sees
  float eps = 1e-6f;

  int channels() const { return 2 * key_heads * key_dim + value_heads * value_dim; }
  CacheSpec cache() const;
};

/// Source: mlx-lm models/qwen3_5.py, GatedDeltaNet; arXiv 2412.06464.
class GatedDeltaNet {
 public:
  GatedDeltaNet(const tensor::Weights& w, const GatedDeltaNetSettings& s);
  /// x [1, T, D] -> [1, T, D]; the caches are StateCaches of {convolution's tail, state}
  Array operator()(const Array& x, tensor::LayerCache cache) const;

 private:
  Array mixed(const Array& qkv, const Array& a, const Array& b, tensor::StateCache& state) const;
  Array gated_norm(const Array& y, const Array& z) const;

  GatedDeltaNetSettings s_;
  tensor::Linear in_proj_qkv_, in_proj_z_, in_proj_b_, in_proj_a_, out_proj_;
  tensor::CausalConv conv1d_;
  tensor::RmsNorm norm_;
  Array a_log_, dt_bias_;  // [Hv]
  tensor::Execution execution_;
};

}  // namespace hearth::models
