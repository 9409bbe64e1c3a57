#include "models/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/file.h"
#include "models/config.h"
#include "tensor/kernels/cuda/cuda.h"

namespace hearth::models {
namespace {

/// "4-bit, group 64", or the dtype of the first matrix
std::string describe_quantization(const Json& config, const std::map<std::string, Array>& tensors) {
  const auto q = config.find("quantization");
  if (q != config.end() && q->is_object() && q->contains("bits")) {
    return fmt::format("{}-bit, group {}", q->value("bits", 0), q->value("group_size", 0));
  }
  for (const auto& [name, tensor] : tensors) {
    if (tensor.ndim() == 2) return tensor::to_string(tensor.dtype());
  }
  return "unknown";
}

/// Numbers in the checkpoint: a matrix of packed words counts its unpacked entries.
std::size_t count_parameters(const std::map<std::string, Array>& tensors) {
  std::size_t total = 0;
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(".scales") || name.ends_with(".biases")) continue;
    std::size_t size = tensor.size();
    const auto scales = tensors.find(name.substr(0, name.rfind('.')) + ".scales");
    if (tensor.dtype() == mlx::core::uint32 && scales != tensors.end() && tensor.ndim() == 2) {
      // Without the bits at hand: 32, 64 or 128 entries stand behind each scale; the words tell.
      const auto words_a_group = double(tensor.shape(1)) / scales->second.shape(1);
      for (const int group : {32, 64, 128}) {
        const double bits = words_a_group * 32 / group;
        if (bits >= 2 && bits <= 8 && bits == int(bits)) {
          size = scales->second.size() * group;
          break;
        }
      }
    }
    total += size;
  }
  return total;
}

/// "12 tensors WHAT: a, b, ..." in one line, of at most 20.
tl::unexpected<Error> wrong_tensors(const std::string& where, const char* what,
                                    std::vector<std::string> names) {
  const auto total = names.size();
  names.resize(std::min<std::size_t>(total, 20));
  return fail(ErrorCode::corrupt_file,
              fmt::format("{}: {} tensors {}: {}{}", where, total, what, fmt::join(names, ", "),
                          total > 20 ? ", ..." : ""));
}

/// Every tensor must have been taken or be one that the family drops.
Result<void> check_leftovers(const tensor::Weights& weights, const Family& family,
                             const Json& config, const std::string& where) {
  std::vector<std::string> left;
  for (const auto& name : weights.unused()) {
    if (!family.drops || !family.drops(config, name)) left.push_back(name);
  }
  if (left.empty()) return {};
  return wrong_tensors(where, "have no place in this model", std::move(left));
}

/// Sentence embedders are exported without their head and without the prefix that goes with it.
void name_bare_decoder(Json& config, const tensor::Weights& weights) {
  if (!weights["embed_tokens"].has("weight")) return;
  weights.move("", "model.");
  config["tie_word_embeddings"] = true;
}

Result<const Family*> family_of(const Json& config, const std::string& where) {
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) {
    return fail(ErrorCode::corrupt_file, where + ": config.json has no \"model_type\"");
  }
  const Family* family = find_family(type->get<std::string>());
  if (!family) {
    return fail(ErrorCode::unsupported,
                fmt::format("{}: model_type \"{}\" is not supported; known: {}", where,
                            type->get<std::string>(), fmt::join(known_model_types(), ", ")));
  }
  return family;
}

/// How the weights are stored must be a way that MLX knows (mlx mx.quantize, `mode`).
Result<void> check_mode(const Json& config, const std::string& where) {
  const auto settings = config.find("quantization");
  if (settings == config.end() || !settings->is_object()) return {};
  const auto mode = settings->find("mode");
  constexpr std::array known = {"affine", "mxfp4", "mxfp8", "nvfp4"};
  if (mode == settings->end() || std::ranges::find(known, *mode) != known.end()) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("{}: quantization mode {} is not supported; known: {}", where,
                          mode->dump(), fmt::join(known, ", ")));
}

}  // namespace

bool device_takes(const std::filesystem::path& path) {
  if (!kernels::cuda::active()) return false;
  const auto config = read_json_file(path / "config.json");
  if (!config || !config->is_object()) return false;
  try {
    const Json text = text_config(*config);
    const ConfigReader c(text);
    static const std::set<std::string_view> known{"llama", "mistral",     "iquestcoder", "qwen2",
                                                  "qwen3", "gemma3_text", "gemma3"};
    if (!known.contains((*config)["model_type"].get<std::string>())) return false;
    if (c.flag("use_bidirectional_attention", false)) return false;
    const int hidden = c.integer("hidden_size");
    const int heads = c.integer("num_attention_heads");
    return kernels::cuda::takes_inputs(hidden) &&
           kernels::cuda::takes_inputs(c.integer("intermediate_size")) &&
           kernels::cuda::takes_heads(c.integer("head_dim", hidden / heads));
  } catch (const std::exception&) {
    return false;  // load() says what is wrong
  }
}

Result<Loaded> load(const std::filesystem::path& path, tensor::Execution execution) {
  // Before the weights: that a model is of no known kind matters more than that a part is missing.
  if (const auto config = read_json_file(path / "config.json"); config && config->is_object()) {
    if (auto known = family_of(*config, path.string()); !known) return fail(known.error());
  }
  auto checkpoint = tensor::load_checkpoint(path);
  if (!checkpoint) return fail(checkpoint.error());
  return load(std::move(*checkpoint), path.string(), execution);
}

Result<Loaded> load(tensor::Checkpoint checkpoint, const std::string& where,
                    tensor::Execution execution) {
  Json& config = checkpoint.config;
  const auto known = family_of(config, where);
  if (!known) return fail(known.error());
  if (auto ok = check_mode(config, where); !ok) return fail(ok.error());
  const Family* family = *known;
  Loaded loaded{.model_type = config["model_type"],
                .tool_calls = family->tool_calls,
                .bytes = checkpoint.bytes,
                .parameters = count_parameters(checkpoint.tensors),
                .quantization = describe_quantization(config, checkpoint.tensors),
                .notes = std::move(checkpoint.notes)};
  try {
    const Json text = text_config(config);
    const ConfigReader c(text);
    loaded.context_length = c.integer("max_position_embeddings", 0, 0);
    loaded.layers = c.integer("num_hidden_layers", 0, 0);
    loaded.hidden_size = c.integer("hidden_size", 0, 0);
    const tensor::Weights weights(std::move(checkpoint.tensors),
                                  config.value("quantization", Json()), execution);
    name_bare_decoder(config, weights);
    loaded.model = family->load(config, weights);
    loaded.encoder = std::ranges::any_of(loaded.model->caches(), &tensor::CacheSpec::both_ways);
    if (!weights.faults().empty()) {
      return wrong_tensors(where, "are missing or misshapen", weights.faults());
    }
    if (auto ok = check_leftovers(weights, *family, config, where); !ok) return fail(ok.error());
    loaded.vocab_size = loaded.model->vocab_size();
  } catch (const std::exception& e) {
    return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", where, e.what()));
  }
  return loaded;
}

}  // namespace hearth::models
