// Mistral 3: a text model of another family beside a tower for images, which is left out.
// Reference: mlx-lm models/mistral3.py (tests/golden).
#include <stdexcept>

#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

/// The text model's own config: Llama's where it does not say.
Json inner(const Json& config) {
  if (!config.contains("text_config")) {
    throw std::invalid_argument("config.json has no \"text_config\"");
  }
  Json text = config["text_config"];
  if (!text.contains("tie_word_embeddings")) text["tie_word_embeddings"] = false;
  if (text.value("model_type", "") != "ministral3") text["model_type"] = "llama";
  return text;
}

std::unique_ptr<Model> load(const Json& config, const tensor::Weights& w) {
  w.move("model.language_model.", "language_model.model.");
  const Json text = inner(config);
  return find_family(text["model_type"].get<std::string>())->load(text, w["language_model"]);
}

bool drops(const Json& config, std::string_view tensor) {
  return tensor.find("vision_tower") != tensor.npos ||
         tensor.find("multi_modal_projector") != tensor.npos ||
         (tensor.starts_with("language_model.") &&
          decoder_drops(inner(config), tensor.substr(15), false));
}

const Registered mistral3{{
    .model_types = {"mistral3"},
    .load = load,
    .drops = drops,
    .tool_calls = ToolDialect::mistral,
}};

}  // namespace
}  // namespace hearth::models
