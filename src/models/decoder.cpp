#include "models/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace hearth::models {

using tensor::RmsNorm;
using tensor::Weights;

namespace {

Array divided(const Array& x, double divisor) {
  return divisor == 1 ? x : x / Array(static_cast<float>(divisor), x.dtype());
}

}  // namespace

DecoderFrame::DecoderFrame(const DecoderConfig& c, const Weights& w, Scaling scaling)
    : vocab_size_(c.vocab_size), scaling_(scaling),
      embed_tokens_(w["model"]["embed_tokens"], c.vocab_size, c.hidden_size) {
  if (!c.tie_word_embeddings) lm_head_.emplace(w["lm_head"], c.vocab_size, c.hidden_size);
}

Array DecoderFrame::embed(const Array& tokens) const {
  const auto h = embed_tokens_(tokens);
  return scaling_.embedding == 1 ? h : tensor::times(h, scaling_.embedding);
}

Array DecoderFrame::head(const Array& normalised) const {
  const auto h = divided(normalised, scaling_.hidden_divisor);
  const auto logits =
      divided(lm_head_ ? (*lm_head_)(h) : embed_tokens_.as_linear(h), scaling_.logits_divisor);
  return scaling_.softcap > 0 ? tensor::softcap(logits, scaling_.softcap) : logits;
}

Array PreNormBlock::operator()(const Array& x, tensor::LayerCache cache) const {
  auto r = self_attn_(input_layernorm_(x), std::move(cache));
  if (residual_multiplier_ != 1) r = tensor::times(r, residual_multiplier_);
  const auto [h, normalised] = post_attention_layernorm_.after_sum(x, r);
  const auto* gated = std::get_if<tensor::GatedMlp>(&mlp_);
  if (gated && residual_multiplier_ == 1) return gated->plus(h, normalised);
  const auto y = gated ? (*gated)(normalised) : std::get<FeedForward>(mlp_)(normalised);
  return h + (residual_multiplier_ == 1 ? y : tensor::times(y, residual_multiplier_));
}

tensor::RopeSettings rope_settings(const DecoderConfig& c) {
  return {.dims = c.head_dim,
          .base = c.rope_theta,
          .traditional = c.rope_traditional,
          .scaling = c.rope_scaling,
          .max_position_embeddings = c.max_position_embeddings};
}

tensor::AttentionSettings attention_settings(const DecoderConfig& c) {
  return {.dims = c.hidden_size,
          .heads = c.num_attention_heads,
          .kv_heads = c.num_key_value_heads,
          .head_dim = c.head_dim,
          .scale = static_cast<float>(std::pow(c.head_dim, -0.5))};
}

std::vector<CacheSpec> full_caches(const DecoderConfig& c) {
  return std::vector<CacheSpec>(c.num_hidden_layers, {c.num_key_value_heads, c.head_dim});
}

DecoderSettings::DecoderSettings(const DecoderConfig& c)
    : config(c),
      attention(attention_settings(c)), mlp{.dims = c.hidden_size, .hidden = c.intermediate_size},
      rope(rope_settings(c)), windows(c.num_hidden_layers, 0) {}

std::unique_ptr<Model> make_decoder(const DecoderSettings& s, const Weights& w) {
  const auto& c = s.config;
  const auto norm = [&](const Weights& at) {
    return RmsNorm(at, c.hidden_size, c.rms_norm_eps, s.norms);
  };
  DecoderFrame frame(c, w, s.scaling);
  const tensor::Rope rope(s.rope);
  std::vector<PreNormBlock> layers;
  std::vector<CacheSpec> caches;
  for (int i = 0; i < c.num_hidden_layers; ++i) {
    const auto at = w["model"]["layers"][i];
    const bool still = !s.unturned.empty() && s.unturned[i];
    CacheSpec cache{c.num_key_value_heads, c.head_dim, s.windows[i]};
    Mixer mixer = s.mixer ? s.mixer(i, at, cache) : nullptr;
    if (!mixer) {
      mixer = tensor::SelfAttention(at["self_attn"], s.attention, still ? tensor::Rope() : rope);
    }
    AnyMlp mlp =
        s.feed_forward ? AnyMlp(s.feed_forward(i, at)) : AnyMlp(tensor::GatedMlp(at["mlp"], s.mlp));
    layers.emplace_back(std::move(mixer), std::move(mlp), norm(at[s.norm_names[0]]),
                        norm(at[s.norm_names[1]]), s.residual_multiplier);
    caches.push_back(cache);
  }
  return std::make_unique<Decoder<PreNormBlock>>(
      std::move(frame), std::move(layers), norm(w["model"][s.norm_names[2]]), std::move(caches));
}

std::vector<int> sliding_windows(const Json& config, int layers) {
  const ConfigReader c(config);
  std::vector<int> windows(layers, 0);
  const Json types = c.value("layer_types");
  if (types.is_null()) return windows;
  if (!types.is_array() || types.size() != windows.size()) {
    throw std::invalid_argument(
        fmt::format("config.json \"layer_types\" must list {} layers", layers));
  }
  std::ranges::transform(types, windows.begin(), [&](const Json& type) {
    return type == "sliding_attention" ? c.integer("sliding_window") : 0;
  });
  return windows;
}

bool decoder_drops(const Json& config, std::string_view tensor, bool tied_by_default) {
  return tensor.find("self_attn.rotary_emb.inv_freq") != tensor.npos ||
         (tensor.starts_with("lm_head.") &&
          ConfigReader(config).flag("tie_word_embeddings", tied_by_default));
}

}  // namespace hearth::models
