#include "models/gemma4_attention.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tensor/kernels/kernels.h"

namespace hearth::models {

namespace mx = mlx::core;
using tensor::Weights;

namespace {

std::vector<bool> sliding_layers(const ConfigReader& c, int layers) {
  std::vector<bool> slides(layers);
  const Json types = c.value("layer_types");
  const int pattern = c.integer("sliding_window_pattern", 5);
  if (!types.is_null() && (!types.is_array() || types.size() != slides.size())) {
    throw std::invalid_argument(
        fmt::format("config.json \"layer_types\" must list {} layers", layers));
  }
  for (int i = 0; i < layers; ++i) {
    slides[i] = types.is_null() ? (i + 1) % pattern != 0 : types[i] == "sliding_attention";
  }
  return slides;
}

Json default_rotation() {
  return {{"full_attention",
           {{"partial_rotary_factor", 0.25}, {"rope_theta", 1e6}, {"rope_type", "proportional"}}},
          {"sliding_attention", {{"rope_theta", 1e4}, {"rope_type", "default"}}}};
}

tensor::Rope rotation(const Gemma4Config& c, int layer) {
  const char* kind = c.slides[layer] ? "sliding_attention" : "full_attention";
  const Json parameters = c.rope_parameters.value(kind, Json::object());
  return tensor::Rope({.dims = c.head_size(layer),
                       .base = ConfigReader(parameters).number("rope_theta", 10000.0f),
                       .traditional = c.rope_traditional,
                       .scaling = parameters,
                       .max_position_embeddings = c.max_position_embeddings});
}

}  // namespace

Gemma4Config::Gemma4Config(const Json& config) {
  const ConfigReader c(config);
  hidden_size = c.integer("hidden_size", 1536);
  num_hidden_layers = c.integer("num_hidden_layers", 35, 1, 4096);
  intermediate_size = c.integer("intermediate_size", 6144);
  num_attention_heads = c.integer("num_attention_heads", 8, 1, 4096);
  head_dim = c.integer("head_dim", 256, 2, 4096);
  global_head_dim = c.integer("global_head_dim", 512, 0, 4096);
  vocab_size = c.integer("vocab_size", 262144);
  vocab_size_per_layer_input = c.integer("vocab_size_per_layer_input", 262144);
  num_key_value_heads = c.integer("num_key_value_heads", 1, 1, 4096);
  num_global_key_value_heads =
      c.integer("num_global_key_value_heads", num_key_value_heads, 1, 4096);
  num_kv_shared_layers = c.integer("num_kv_shared_layers", 20, 0, num_hidden_layers - 1);
  hidden_size_per_layer_input = c.integer("hidden_size_per_layer_input", 256, 0);
  sliding_window = c.integer("sliding_window", 512);
  max_position_embeddings = c.integer("max_position_embeddings", 131072);
  rms_norm_eps = c.number("rms_norm_eps", 1e-6f);
  final_logit_softcapping = c.number("final_logit_softcapping", 30.0f);
  rope_traditional = c.flag("rope_traditional", false);
  attention_k_eq_v = c.flag("attention_k_eq_v", false);
  use_double_wide_mlp = c.flag("use_double_wide_mlp", true);
  enable_moe_block = c.flag("enable_moe_block", false);
  tie_word_embeddings = c.flag("tie_word_embeddings", true);
  num_experts = enable_moe_block ? c.integer("num_experts") : 0;
  top_k_experts = enable_moe_block ? c.integer("top_k_experts", {}, 1, num_experts) : 0;
  moe_intermediate_size = enable_moe_block ? c.integer("moe_intermediate_size") : 0;
  slides = sliding_layers(c, num_hidden_layers);
  rope_parameters = c.value("rope_parameters");
  if (rope_parameters.is_null()) rope_parameters = default_rotation();
  for (int i = 0; i < num_hidden_layers; ++i) {
    if (num_attention_heads % kv_heads(i) != 0) {
      throw std::invalid_argument("config.json: key-value heads must divide the attention heads");
    }
    donor(i);
  }
}

int Gemma4Config::donor(int layer) const {
  if (layer < first_shared()) return layer;
  for (int i = first_shared() - 1; i >= 0; --i) {
    if (slides[i] == slides[layer]) return i;
  }
  throw std::invalid_argument(fmt::format(
      "config.json: layer {} shares keys and values, but no earlier layer is of its kind", layer));
}

int Gemma4Config::kv_heads(int layer) const {
  return key_is_value(layer) ? num_global_key_value_heads : num_key_value_heads;
}

int Gemma4Config::head_size(int layer) const {
  return !slides[layer] && global_head_dim > 0 ? global_head_dim : head_dim;
}

Gemma4Attention::Gemma4Attention(const Weights& w, const Gemma4Config& c, int layer)
    : heads_(c.num_attention_heads), kv_heads_(c.kv_heads(layer)), head_dim_(c.head_size(layer)),
      eps_(c.rms_norm_eps), execution_(w.execution()),
      q_proj_(w["q_proj"], heads_ * head_dim_, c.hidden_size),
      o_proj_(w["o_proj"], c.hidden_size, heads_ * head_dim_),
      q_norm_(w["q_norm"], head_dim_, eps_), rope_(rotation(c, layer)) {
  if (layer >= c.first_shared()) return;
  k_proj_.emplace(w["k_proj"], kv_heads_ * head_dim_, c.hidden_size);
  if (!c.key_is_value(layer)) v_proj_.emplace(w["v_proj"], kv_heads_ * head_dim_, c.hidden_size);
  k_norm_.emplace(w["k_norm"], head_dim_, eps_);
}

/// @return {keys before their norm, values after it}, [1, T, Hk, Dh]
std::pair<Array, Array> Gemma4Attention::keys_and_values(const Array& x) const {
  const auto k = tensor::split_heads((*k_proj_)(x), kv_heads_);
  const auto v = v_proj_ ? tensor::split_heads((*v_proj_)(x), kv_heads_) : k;
  return {k, tensor::unit_norm(v, eps_, execution_)};
}

Array Gemma4Attention::plain(const Array& projected, const Array& x,
                             tensor::LayerCache& cache) const {
  using tensor::heads_first;
  const tensor::Scoring scoring{.scale = 1};
  const auto q = heads_first(q_norm_(tensor::split_heads(projected, heads_)));
  if (!k_proj_) return tensor::merge_heads(cache.attend_again(q, rope_, scoring));
  const auto [k, v] = keys_and_values(x);
  return tensor::merge_heads(
      cache.attend(q, heads_first((*k_norm_)(k)), heads_first(v), rope_, scoring));
}

Array Gemma4Attention::on_kernels(const Array& projected, const Array& x,
                                  const tensor::LayerCache& cache) const {
  kernels::AttendOptions options{.heads = heads_,
                                 .kv_heads = kv_heads_,
                                 .head_dim = head_dim_,
                                 .scale = 1,
                                 .rope = rope_.table(),
                                 .q_norm = q_norm_.weight(),
                                 .norm_eps = eps_};
  const auto out = [&] {
    if (!k_proj_) return kernels::attend_again(projected, cache.pages(), cache.rows(), options);
    options.k_norm = k_norm_->weight();
    const auto [k, v] = keys_and_values(x);
    return kernels::attend(projected, k, v, cache.pages(), cache.rows(), options);
  }();
  return mx::reshape(out, {1, x.shape(1), heads_ * head_dim_});
}

Array Gemma4Attention::operator()(const Array& x, tensor::LayerCache cache) const {
  const auto q = q_proj_(x);
  return o_proj_(execution_ == tensor::Execution::kernels ? on_kernels(q, x, cache)
                                                          : plain(q, x, cache));
}

}  // namespace hearth::models
