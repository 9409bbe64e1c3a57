#include "models/config.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace hearth::models {

const Json* ConfigReader::find(const char* key) const {
  const auto found = config_.find(key);
  return found == config_.end() || found->is_null() ? nullptr : &*found;
}

int ConfigReader::integer(const char* key, std::optional<int> otherwise, int least,
                          int most) const {
  const Json* found = find(key);
  if (!found && otherwise) return *otherwise;
  if (!found) throw std::invalid_argument(fmt::format("config.json has no \"{}\"", key));
  if (!found->is_number_integer() || found->get<double>() < least || found->get<double>() > most) {
    throw std::invalid_argument(
        fmt::format("config.json \"{}\" is {}, expected an integer from {} "
                    "to {}",
                    key, found->dump(), least, most));
  }
  return found->get<int>();
}

float ConfigReader::number(const char* key, std::optional<float> otherwise) const {
  const Json* found = find(key);
  if (!found && otherwise) return *otherwise;
  if (!found) throw std::invalid_argument(fmt::format("config.json has no \"{}\"", key));
  if (!found->is_number() || !std::isfinite(found->get<double>())) {
    throw std::invalid_argument(
        fmt::format("config.json \"{}\" is {}, expected a number", key, found->dump()));
  }
  return found->get<float>();
}

bool ConfigReader::flag(const char* key, bool otherwise) const {
  const Json* found = find(key);
  if (!found) return otherwise;
  if (!found->is_boolean()) {
    throw std::invalid_argument(
        fmt::format("config.json \"{}\" is {}, expected true or false", key, found->dump()));
  }
  return found->get<bool>();
}

Json ConfigReader::value(const char* key) const {
  const Json* found = find(key);
  return found ? *found : Json();
}

DecoderConfig::DecoderConfig(const Json& config, const Defaults& defaults) {
  const ConfigReader c(config);
  hidden_size = c.integer("hidden_size");
  num_hidden_layers = c.integer("num_hidden_layers", {}, 1, 4096);
  intermediate_size = c.integer("intermediate_size");
  num_attention_heads = c.integer("num_attention_heads", {}, 1, 4096);
  num_key_value_heads = c.integer("num_key_value_heads", num_attention_heads, 1, 4096);
  head_dim = c.integer("head_dim", std::max(hidden_size / num_attention_heads, 1), 1, 4096);
  vocab_size = c.integer("vocab_size", defaults.vocab_size);
  max_position_embeddings =
      c.integer("max_position_embeddings", defaults.max_position_embeddings, 0);
  rms_norm_eps = c.number("rms_norm_eps", 1e-6f);
  rope_traditional = c.flag("rope_traditional", false);
  tie_word_embeddings = c.flag("tie_word_embeddings", defaults.tie_word_embeddings);
  // transformers 5 nests both under rope_parameters.
  const Json parameters = c.value("rope_parameters");
  rope_scaling = c.value("rope_scaling");
  if (rope_scaling.is_null()) rope_scaling = parameters;
  const float theta = parameters.is_object()
                          ? ConfigReader(parameters).number("rope_theta", defaults.rope_theta)
                          : defaults.rope_theta;
  rope_theta = c.number("rope_theta", theta);
  if (num_attention_heads % num_key_value_heads != 0) {
    throw std::invalid_argument(
        fmt::format("config.json has {} attention heads, expected a multiple of its {} key-value "
                    "heads",
                    num_attention_heads, num_key_value_heads));
  }
  if (!(rope_theta > 0)) throw std::invalid_argument("config.json \"rope_theta\" must be positive");
}

int rotary_dims(const Json& config, int head_dim, double otherwise) {
  const Json found = ConfigReader(config).value("partial_rotary_factor");
  const double factor = found.is_number() ? found.get<double>() : otherwise;
  if ((!found.is_null() && !found.is_number()) || !(factor > 0 && factor <= 1)) {
    throw std::invalid_argument(fmt::format(
        "config.json \"partial_rotary_factor\" is {}, expected a number in (0, 1]", found.dump()));
  }
  return static_cast<int>(head_dim * factor);
}

Json text_config(const Json& config) {
  const auto nested = config.find("text_config");
  if (nested == config.end() || !nested->is_object()) return config;
  Json text = *nested;
  for (const char* key : {"quantization", "quantization_config", "eos_token_id", "model_type"}) {
    if (config.contains(key) && !text.contains(key)) text[key] = config[key];
  }
  return text;
}

}  // namespace hearth::models
