// ERNIE 4.5, dense: Llama with interleaved rotation.
// Reference: mlx-lm models/ernie4_5.py (tests/golden).
#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  DecoderSettings s{DecoderConfig(config, {})};
  s.attention.qkv_bias = s.attention.output_bias = s.mlp.bias =
      ConfigReader(config).flag("use_bias", false);
  s.rope.traditional = true;
  s.rope.scaling = nullptr;
  return make_decoder(s, w);
}

const Registered ernie4_5{{
    .model_types = {"ernie4_5"},
    .load = load,
    .drops = [](const Json& config,
                std::string_view tensor) { return decoder_drops(config, tensor, true); },
}};

}  // namespace
}  // namespace hearth::models
