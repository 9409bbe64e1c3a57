#include "tensor/gguf_config.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>

namespace hearth::tensor {
namespace {

constexpr std::int64_t max_layers = 4096;

/// The decimal that a person would write for a float32.
double tidy(float value) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof(text), value);
  double out = value;
  std::from_chars(text, written.ptr, out);
  return out;
}

/// Metadata under an architecture's prefix. The first failure is kept; later reads give defaults.
class Keys {
 public:
  Keys(const Json& metadata, std::string prefix)
      : metadata_(metadata), prefix_(std::move(prefix)) {}

  const std::optional<Error>& error() const { return error_; }
  void refuse(ErrorCode code, std::string message) {
    if (!error_) error_ = Error{code, std::move(message)};
  }

  std::optional<std::int64_t> integer_if(const std::string& key) {
    const Json* value = find(key);
    if (!value) return {};
    if (!value->is_number_integer() ||
        (value->is_number_unsigned() && value->get<std::uint64_t>() > max)) {
      refuse(ErrorCode::corrupt_file,
             fmt::format("{}{} is {}, expected an integer", prefix_, key, shown(*value)));
      return {};
    }
    const auto number = value->get<std::int64_t>();
    if (number < 0 || static_cast<std::uint64_t>(number) > max) {
      refuse(ErrorCode::corrupt_file,
             fmt::format("{}{} is {}, expected 0 to 2^31 - 1", prefix_, key, number));
      return {};
    }
    return number;
  }
  std::int64_t integer(const std::string& key) {
    const auto value = integer_if(key);
    if (!value) {
      refuse(ErrorCode::corrupt_file, fmt::format("metadata has no {}{}", prefix_, key));
    }
    return value.value_or(0);
  }

  std::optional<double> real_if(const std::string& key) {
    const Json* value = find(key);
    if (!value) return {};
    const double number = value->is_number() ? value->get<double>() : std::nan("");
    if (!std::isfinite(number)) {
      refuse(ErrorCode::corrupt_file,
             fmt::format("{}{} is {}, expected a number", prefix_, key, shown(*value)));
      return {};
    }
    return tidy(static_cast<float>(number));
  }
  double real(const std::string& key) {
    const auto value = real_if(key);
    if (!value) {
      refuse(ErrorCode::corrupt_file, fmt::format("metadata has no {}{}", prefix_, key));
    }
    return value.value_or(0);
  }

  std::string text(const std::string& key) {
    const Json* value = find(key);
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }

 private:
  static constexpr std::uint64_t max = std::numeric_limits<std::int32_t>::max();

  const Json* find(const std::string& key) const {
    const auto found = metadata_.find(prefix_ + key);
    return found == metadata_.end() ? nullptr : &*found;
  }
  static std::string shown(const Json& value) {
    return value.is_structured() ? std::string(value.type_name())
                                 : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  const Json& metadata_;
  std::string prefix_;
  std::optional<Error> error_;
};

/// The divisor of one rotary frequency under Llama 3's rule with its usual bounds.
/// Source: mlx-lm models/rope_utils.py, Llama3RoPE.
double llama3_divisor(double frequency, double factor, double original) {
  constexpr double low = 1, high = 4;
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < original / high) return 1;
  if (wavelength > original / low) return factor;
  const double smooth = (original / wavelength - low) / (high - low);
  return 1 / ((1 - smooth) / factor + smooth);
}

/// rope_scaling of `rope_freqs.weight`.
Result<Json> llama3_scaling(const GgufFile& file, const GgufTensor& tensor, double base, int dims) {
  const auto other = [] {
    return fail(ErrorCode::unsupported,
                "tensor rope_freqs.weight holds frequency divisors of another rule than Llama 3's; "
                "convert the original model with mlx_lm.convert");
  };
  constexpr double original = 8192;
  if (tensor.type->id != GgufType::f32 ||
      tensor.bytes != static_cast<std::uint64_t>(dims) / 2 * 4) {
    return other();
  }
  std::vector<float> divisors(static_cast<std::size_t>(dims) / 2);
  std::memcpy(divisors.data(), file.bytes_of(tensor).data(), tensor.bytes);
  const double factor = divisors.back();
  if (!(factor >= 1)) return other();
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double frequency = std::pow(base, -2.0 * static_cast<double>(i) / dims);
    if (!(std::abs(divisors[i] / llama3_divisor(frequency, factor, original) - 1) < 1e-3)) {
      return other();
    }
  }
  return Json{{"rope_type", "llama3"},
              {"factor", tidy(static_cast<float>(factor))},
              {"low_freq_factor", 1.0},
              {"high_freq_factor", 4.0},
              {"original_max_position_embeddings", 8192}};
}

/// rope_scaling, or null where positions are not scaled.
Result<Json> rope_scaling(Keys& keys, const GgufFile& file, double base, int dims) {
  if (const auto freqs = file.tensors().find("rope_freqs.weight"); freqs != file.tensors().end()) {
    return llama3_scaling(file, freqs->second, base, dims);
  }
  const std::string type = keys.text("rope.scaling.type");
  const auto factor = keys.real_if("rope.scaling.factor");
  if (type.empty()) {  // the older spelling
    const auto linear = keys.real_if("rope.scale_linear");
    if (linear && *linear != 1) return Json{{"rope_type", "linear"}, {"factor", *linear}};
    return Json();
  }
  if (type == "none" || (type == "linear" && factor.value_or(1) == 1)) return Json();
  if (!factor) {
    return fail(ErrorCode::corrupt_file, fmt::format("rope scaling '{}' has no factor", type));
  }
  Json out{{"rope_type", type}, {"factor", *factor}};
  if (type == "linear") return out;
  if (type == "yarn") {
    out["original_max_position_embeddings"] = keys.integer("rope.scaling.original_context_length");
    return out;
  }
  return fail(
      ErrorCode::unsupported,
      fmt::format("rope scaling '{}' is not read here, only linear, yarn and Llama 3's", type));
}

/// Ids of the tokenizer: bos, and every one that ends a turn.
void add_token_ids(Keys& tokenizer, Json& config) {
  if (const auto bos = tokenizer.integer_if("bos_token_id")) config["bos_token_id"] = *bos;
  Json ends = Json::array();
  for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    const auto id = tokenizer.integer_if(key);
    if (id && std::find(ends.begin(), ends.end(), Json(*id)) == ends.end()) ends.push_back(*id);
  }
  if (ends.size() == 1) config["eos_token_id"] = ends[0];
  if (ends.size() > 1) config["eos_token_id"] = ends;
  if (const auto pad = tokenizer.integer_if("padding_token_id")) config["pad_token_id"] = *pad;
}

/// Gemma 3 names neither its pattern nor its query scale: they follow from its sizes.
/// Source: Gemma 3 Technical Report (arXiv 2503.19786), and transformers' configs of the five
/// sizes.
void add_gemma3(Keys& keys, Json& config, int head_dim) {
  const auto layers = config["num_hidden_layers"].get<std::int64_t>();
  const auto pattern = keys.integer_if("attention.sliding_window_pattern").value_or(6);
  constexpr int layers_of_27b = 62;
  config["query_pre_attn_scalar"] =
      layers == layers_of_27b ? config["hidden_size"].get<std::int64_t>() /
                                    std::max<std::int64_t>(1, config["num_attention_heads"])
                              : head_dim;
  config["rope_local_base_freq"] = keys.real_if("rope.freq_base_swa").value_or(10000.0);
  config["sliding_window"] = keys.integer("attention.sliding_window");
  config["sliding_window_pattern"] = pattern;
  config["layer_types"] = Json::array();
  for (std::int64_t i = 0; i < layers && pattern > 0; ++i) {
    config["layer_types"].push_back((i + 1) % pattern == 0 ? "full_attention"
                                                           : "sliding_attention");
  }
  config["hidden_activation"] = "gelu_pytorch_tanh";
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (const auto value = keys.real_if(cap)) config[cap] = *value;
  }
}

struct ArchText {
  const char* model_type;
  const char* architecture;
  double rope_theta;  // where the metadata has none
};

ArchText arch_text(GgufArch arch) {
  switch (arch) {
    case GgufArch::llama:
      return {"llama", "LlamaForCausalLM", 10000};
    case GgufArch::qwen2:
      return {"qwen2", "Qwen2ForCausalLM", 1000000};
    case GgufArch::qwen3:
      return {"qwen3", "Qwen3ForCausalLM", 1000000};
    case GgufArch::gemma3:
      return {"gemma3_text", "Gemma3ForCausalLM", 1000000};
  }
  return {};
}

}  // namespace

Result<Json> gguf_config(GgufArch arch, const GgufFile& file) {
  const Json& metadata = file.metadata();
  Keys keys(metadata, metadata.value("general.architecture", "") + ".");
  Keys tokenizer(metadata, "tokenizer.ggml.");
  const auto has = [&](const char* name) { return file.tensors().contains(name); };
  const ArchText text = arch_text(arch);

  const auto heads = keys.integer("attention.head_count");
  const auto hidden = keys.integer("embedding_length");
  const auto rope_dims = keys.integer_if("rope.dimension_count");
  const auto head_dim = keys.integer_if("attention.key_length")
                            .value_or(rope_dims.value_or(heads > 0 ? hidden / heads : 0));
  const double theta = keys.real_if("rope.freq_base").value_or(text.rope_theta);
  const auto embedding = file.tensors().find("token_embd.weight");

  Json config{
      {"architectures", Json::array({text.architecture})},
      {"model_type", text.model_type},
      {"hidden_size", hidden},
      {"num_hidden_layers", keys.integer("block_count")},
      {"intermediate_size", keys.integer("feed_forward_length")},
      {"num_attention_heads", heads},
      {"num_key_value_heads", keys.integer_if("attention.head_count_kv").value_or(heads)},
      {"head_dim", head_dim},
      {"rms_norm_eps", keys.real("attention.layer_norm_rms_epsilon")},
      {"rope_theta", theta},
      {"max_position_embeddings", keys.integer("context_length")},
      {"tie_word_embeddings", !has("output.weight")},
      {"attention_bias", arch != GgufArch::qwen2 && has("blk.0.attn_q.bias")},
  };
  if (const auto layers = config["num_hidden_layers"].get<std::int64_t>(); layers > max_layers) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{} layers, at most {} are read", layers, max_layers));
  }
  if (embedding == file.tensors().end()) {
    keys.refuse(ErrorCode::corrupt_file, "tensor token_embd.weight is missing");
  } else {
    config["vocab_size"] = embedding->second.rows();
  }
  if (arch == GgufArch::llama) config["mlp_bias"] = has("blk.0.ffn_gate.bias");
  if (arch == GgufArch::gemma3) {
    add_gemma3(keys, config, static_cast<int>(head_dim));
  } else {
    config["hidden_act"] = "silu";
  }
  add_token_ids(tokenizer, config);
  if (head_dim < 2 || head_dim % 2 != 0 || heads < 1) {
    keys.refuse(ErrorCode::corrupt_file,
                fmt::format("{} heads of {} are no attention", heads, head_dim));
  }
  if (rope_dims && *rope_dims != head_dim) {
    keys.refuse(ErrorCode::unsupported,
                fmt::format("rotates {} of {} dimensions of a head; only whole "
                            "heads are read here",
                            *rope_dims, head_dim));
  }
  for (const auto* failed : {&keys.error(), &tokenizer.error()}) {
    if (*failed) return fail(**failed);
  }
  auto scaling = rope_scaling(keys, file, theta, static_cast<int>(head_dim));
  if (!scaling) return scaling;
  if (keys.error()) return fail(*keys.error());
  if (!scaling->is_null()) config["rope_scaling"] = std::move(*scaling);
  return config;
}

}  // namespace hearth::tensor
