// DeepSeek V3 and R1, Kimi K2 and GLM-4.7-Flash: latent attention, and experts chosen in groups.
// Reference: mlx-lm models/deepseek_v3.py and glm4_moe_lite.py (tests/golden); arXiv 2412.19437.
#include <cmath>

#include "models/family.h"
#include "models/mla.h"
#include "models/moe.h"

namespace hearth::models {
namespace {

/// Yarn's stretch of the scores: the square of its logarithmic factor.
double stretch(const Json& scaling) {
  if (!scaling.is_object()) return 1;
  const ConfigReader c(scaling);
  const double all = c.number("mscale_all_dim", 0.0f), factor = c.number("factor", 1.0f);
  if (all == 0 || factor <= 1) return 1;
  const double s = 0.1 * all * std::log(factor) + 1;
  return s * s;
}

MlaSettings latent_attention(const ConfigReader& c, const DecoderConfig& of) {
  MlaSettings s{.dims = of.hidden_size,
                .heads = of.num_attention_heads,
                .q_rank = c.integer("q_lora_rank", 0, 0),
                .kv_rank = c.integer("kv_lora_rank", 512),
                .nope_dim = c.integer("qk_nope_head_dim", 128),
                .rope_dim = c.integer("qk_rope_head_dim", 64),
                .value_dim = c.integer("v_head_dim", 128),
                .bias = c.flag("attention_bias", false)};
  s.scale = static_cast<float>(std::pow(double(s.nope_dim + s.rope_dim), -0.5) *
                               stretch(of.rope_scaling));
  if (c.value("model_type") == "glm4_moe_lite") s.norm_eps = of.rms_norm_eps;
  return s;
}

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  const ConfigReader c(config);
  DecoderSettings s{DecoderConfig(config, {.max_position_embeddings = 2048})};
  s.config.tie_word_embeddings = false;
  const auto mla = latent_attention(c, s.config);
  s.rope.dims = mla.rope_dim;
  s.rope.traditional = true;
  const tensor::Rope rope(s.rope);
  s.mixer = [=](int, const tensor::Weights& block, CacheSpec& cache) -> Mixer {
    cache = mla.cache();
    split_kv_b(block["self_attn"], mla);
    return LatentAttention(block["self_attn"], mla, rope);
  };
  const int experts = c.integer("n_routed_experts", 0, 0);
  const int width = c.integer("moe_intermediate_size", 1407);
  const int shared = c.integer("n_shared_experts", 0, 0);
  const int first = c.integer("first_k_dense_replace", 0, 0);
  const int step = c.integer("moe_layer_freq", 1);
  const GroupedChoice how{.k = c.integer("num_experts_per_tok", 1, 1, std::max(experts, 1)),
                          .groups = c.integer("n_group", 1, 1, std::max(experts, 1)),
                          .kept_groups = c.integer("topk_group", 1, 1, std::max(experts, 1)),
                          .scale = c.number("routed_scaling_factor", 1.0f),
                          .normalise = c.flag("norm_topk_prob", true)};
  s.feed_forward = [=, dims = s.config.hidden_size, mlp = s.mlp](
                       int layer, const tensor::Weights& block) -> FeedForward {
    const auto at = block["mlp"];
    if (experts == 0 || layer < first || layer % step != 0) return tensor::GatedMlp(at, mlp);
    return sparse_moe(at, {.experts = experts, .dims = dims, .hidden = width}, shared, how);
  };
  return make_decoder(s, w);
}

/// The layers behind the last are for speculative decoding.
bool drops(const Json& config, std::string_view tensor) {
  const int layers = ConfigReader(config).integer("num_hidden_layers");
  return tensor.starts_with("model.layers." + std::to_string(layers) + ".") ||
         tensor.find("rotary_emb.inv_freq") != tensor.npos;
}

const Registered deepseek_v3{{
    .model_types = {"deepseek_v3", "kimi_k2"},
    .load = load,
    .drops = drops,
    .tool_calls = ToolDialect::deepseek,
}};

const Registered glm4_moe_lite{{
    .model_types = {"glm4_moe_lite"},
    .load = load,
    .drops = drops,
    .tool_calls = ToolDialect::glm,
}};

}  // namespace
}  // namespace hearth::models
