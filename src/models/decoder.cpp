#include "models/decoder.h"

#include <cmath>

namespace hearth::models {

using tensor::Weights;

DecoderBlock::DecoderBlock(const Weights& w, const tensor::AttentionSettings& attention,
                           const tensor::MlpSettings& mlp, tensor::Rope rope, float eps)
    : self_attn_(w["self_attn"], attention, std::move(rope)), mlp_(w["mlp"], mlp),
      input_layernorm_(w["input_layernorm"], attention.dims, eps),
      post_attention_layernorm_(w["post_attention_layernorm"], attention.dims, eps) {}

Array DecoderBlock::operator()(const Array& x, tensor::LayerCache cache) const {
  const auto r = self_attn_(input_layernorm_(x), std::move(cache));
  const auto [h, normalised] = post_attention_layernorm_.after_sum(x, r);
  return mlp_.plus(h, normalised);
}

DecoderSettings::DecoderSettings(const DecoderConfig& c)
    : config(c), attention{.dims = c.hidden_size,
                           .heads = c.num_attention_heads,
                           .kv_heads = c.num_key_value_heads,
                           .head_dim = c.head_dim,
                           .scale = static_cast<float>(std::pow(c.head_dim, -0.5))},
      mlp{.dims = c.hidden_size, .hidden = c.intermediate_size}, windows(c.num_hidden_layers, 0) {}

namespace {

class Decoder final : public Model {
 public:
  Decoder(const DecoderSettings& s, const Weights& w)
      : s_(s), embed_tokens_(w["model"]["embed_tokens"], s.config.vocab_size, s.config.hidden_size),
        norm_(w["model"]["norm"], s.config.hidden_size, s.config.rms_norm_eps) {
    const auto& c = s_.config;
    const tensor::Rope rope({.dims = c.head_dim,
                             .base = c.rope_theta,
                             .traditional = c.rope_traditional,
                             .scaling = c.rope_scaling,
                             .max_position_embeddings = c.max_position_embeddings});
    for (int i = 0; i < c.num_hidden_layers; ++i) {
      layers_.emplace_back(w["model"]["layers"][i], s.attention, s.mlp, rope, c.rms_norm_eps);
    }
    if (!c.tie_word_embeddings) lm_head_.emplace(w["lm_head"], c.vocab_size, c.hidden_size);
  }

  Array forward(const Array& tokens, StepCache& cache) const override {
    auto h = embed_tokens_(tokens);
    for (std::size_t i = 0; i < layers_.size(); ++i) h = layers_[i](h, cache[i]);
    return h;
  }

  Array logits(const Array& hidden) const override {
    const auto h = norm_(hidden);
    return lm_head_ ? (*lm_head_)(h) : embed_tokens_.as_linear(h);
  }

  std::vector<CacheSpec> caches() const override {
    std::vector<CacheSpec> specs;
    for (const int window : s_.windows) {
      specs.push_back({s_.config.num_key_value_heads, s_.config.head_dim, window});
    }
    return specs;
  }

  int vocab_size() const override { return s_.config.vocab_size; }

 private:
  DecoderSettings s_;
  tensor::Embedding embed_tokens_;
  std::vector<DecoderBlock> layers_;
  tensor::RmsNorm norm_;
  std::optional<tensor::Linear> lm_head_;
};

}  // namespace

std::unique_ptr<Model> make_decoder(const DecoderSettings& settings, const Weights& w) {
  return std::make_unique<Decoder>(settings, w);
}

bool decoder_drops(const Json& config, std::string_view tensor, bool tied_by_default) {
  return tensor.find("self_attn.rotary_emb.inv_freq") != tensor.npos ||
         (tensor.starts_with("lm_head.") &&
          ConfigReader(config).flag("tie_word_embeddings", tied_by_default));
}

}  // namespace hearth::models
