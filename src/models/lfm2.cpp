// LFM2: short gated convolutions, and attention in some layers.
// Reference: mlx-lm models/lfm2.py (tests/golden); arXiv 2511.23404.
#include <algorithm>
#include <stdexcept>

#include "models/decoder.h"
#include "models/family.h"
#include "tensor/recurrent.h"

namespace hearth::models {
namespace {

using tensor::Weights;

struct ShortConv {
  tensor::FusedLinear in_proj;
  tensor::CausalConv conv;
  tensor::Linear out_proj;

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const {
    const auto bcx = in_proj(x);
    const auto y = cache.by_row({bcx[0] * bcx[2]}, [&](tensor::KvCache& row, const auto& in) {
      auto& state = tensor::StateCache::of(row);
      const auto out = conv(in[0], state, 0);
      state.advance(in[0].shape(1));
      return out;
    });
    return out_proj(bcx[1] * y);
  }
};

struct GatedMlp {
  tensor::Linear w1, w3, w2;
  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x) const {
    return w2(tensor::gated(w1(x), w3(x), tensor::Activation::silu));
  }
};

/// Layers with attention, as the config lists them.
std::vector<bool> attention_layers(const ConfigReader& c, int layers) {
  std::vector<bool> attends(layers);
  const Json listed = c.value("full_attn_idxs"), types = c.value("layer_types");
  for (int i = 0; i < layers; ++i) {
    attends[i] = listed.is_array()
                     ? std::ranges::find(listed, Json(i)) != listed.end()
                     : types.is_array() && i < int(types.size()) && types[i] == "full_attention";
  }
  if (!std::ranges::count(attends, true)) {
    throw std::invalid_argument(
        "config.json lists no layer with attention in \"full_attn_idxs\" or \"layer_types\"");
  }
  return attends;
}

int hidden(const ConfigReader& c) {
  int width = c.value("block_ff_dim").is_null() ? c.integer("intermediate_size")
                                                : c.integer("block_ff_dim");
  if (!c.flag("block_auto_adjust_ff_dim", false)) return width;
  width = 2 * width / 3;
  width = static_cast<int>(c.number("block_ffn_dim_multiplier", 1.0f) * width);
  const int multiple = c.integer("block_multiple_of", 256);
  return (width + multiple - 1) / multiple * multiple;
}

std::unique_ptr<Model> load(const Json& config, const Weights& w) {
  const ConfigReader c(config);
  Json own = config;
  own.erase("head_dim");
  own["rms_norm_eps"] = c.number("norm_eps", 1e-5f);
  own["intermediate_size"] = hidden(c);
  DecoderSettings s{DecoderConfig(own, {.rope_theta = 1e6f})};
  s.config.tie_word_embeddings = true;
  s.attention.head_norm = {s.config.rms_norm_eps, tensor::RmsNorm::Stored::weight};
  s.attention.norm_names = {"q_layernorm", "k_layernorm"};
  s.attention.output_name = "out_proj";
  s.norm_names = {"operator_norm", "ffn_norm", "embedding_norm"};
  s.rope.traditional = false;
  s.rope.scaling = nullptr;
  w.rewrite([](std::string_view name, const Array& x) -> std::optional<Array> {
    const bool transposed =
        name.ends_with("conv.weight") && x.ndim() == 3 && x.shape(2) > x.shape(1);
    return transposed ? mlx::core::transpose(x, {0, 2, 1}) : x;
  });
  const auto attends = attention_layers(c, s.config.num_hidden_layers);
  const int dims = s.config.hidden_size, kernel = c.integer("conv_L_cache", 3, 2, 64);
  const bool bias = c.flag("conv_bias", false);
  s.mixer = [=](int layer, const Weights& block, CacheSpec& cache) -> Mixer {
    if (attends[layer]) return nullptr;
    cache = {.states = 1, .state_size = std::size_t(kernel - 1) * dims};
    const auto at = block["conv"];
    return ShortConv{{at["in_proj"], {dims, dims, dims}, dims, bias},
                     {at["conv"], dims, kernel, bias},
                     {at["out_proj"], dims, dims, bias}};
  };
  s.feed_forward = [width = s.config.intermediate_size, dims](int, const Weights& block) {
    const auto at = block["feed_forward"];
    return GatedMlp{{at["w1"], width, dims}, {at["w3"], width, dims}, {at["w2"], dims, width}};
  };
  return make_decoder(s, w);
}

const Registered lfm2{{
    .model_types = {"lfm2"},
    .load = load,
    .tool_calls = ToolDialect::lfm,
}};

}  // namespace
}  // namespace hearth::models
