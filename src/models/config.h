// config.json read with care: it is a stranger's file.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hearth::models {

/// Typed, ranged reads. Each throws std::invalid_argument naming the key, what was found and what
/// was expected. A key that is absent or null takes the default; without a default it is an error.
class ConfigReader {
 public:
  explicit ConfigReader(const Json& config) : config_(config) {}

  int integer(const char* key, std::optional<int> otherwise = {}, int least = 1,
              int most = 1 << 28) const;
  float number(const char* key, std::optional<float> otherwise = {}) const;
  bool flag(const char* key, bool otherwise) const;
  /// The object or array under key; null when absent.
  Json value(const char* key) const;

 private:
  const Json* find(const char* key) const;
  const Json& config_;
};

/// The fields that llama-like decoders share, with mlx-lm's names.
struct DecoderConfig {
  int hidden_size, num_hidden_layers, intermediate_size;
  int num_attention_heads, num_key_value_heads, head_dim;
  int vocab_size;
  int max_position_embeddings;  // 0: unknown
  float rms_norm_eps;
  float rope_theta;
  bool rope_traditional;
  bool tie_word_embeddings;
  Json rope_scaling;

  struct Defaults {
    float rope_theta = 10000;
    int max_position_embeddings = 0;
    bool tie_word_embeddings = true;
    std::optional<int> vocab_size = {};
  };
  DecoderConfig(const Json& config, const Defaults& defaults);
};

/// How many dimensions of a head turn: head_dim · partial_rotary_factor, rounded down as Python
/// does.
/// @throws std::invalid_argument for a factor that is not in (0, 1]
int rotary_dims(const Json& config, int head_dim, double otherwise = 1);

/// The text part of a config: `text_config` where a multimodal file nests it, else the file itself,
/// with the model_type, quantization and eos ids of the outer file kept.
Json text_config(const Json& config);

}  // namespace hearth::models
