#include "engine/tiny_model.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <unordered_map>

#include "base/file.h"
#include "mlx/io.h"
#include "mlx/ops.h"
#include "mlx/random.h"

namespace hearth::engine {

namespace mx = mlx::core;

namespace {

constexpr int dims = 64, hidden = 96, heads = 4, kv_heads = 2, head_dim = 16, layers = 2;

constexpr int group_size = 32, bits = 4;

std::unordered_map<std::string, mx::array> random_weights(bool quantized) {
  std::unordered_map<std::string, mx::array> tensors;
  int seed = 0;
  const auto dtype = quantized ? mx::bfloat16 : mx::float32;
  const auto matrix = [&](const std::string& name, int rows, int columns) {
    const auto x = mx::random::normal({rows, columns}, mx::float32, mx::random::key(++seed));
    const auto scaled = mx::astype(x * mx::array(0.3f), dtype);
    if (!quantized) {
      tensors.insert_or_assign(name + ".weight", scaled);
      return;
    }
    const auto parts = mx::quantize(scaled, group_size, bits);
    for (const auto& [i, part] : {std::pair{0, ".weight"}, {1, ".scales"}, {2, ".biases"}}) {
      tensors.insert_or_assign(name + part, parts[std::size_t(i)]);
    }
  };
  const auto ones = [&](const std::string& name) {
    tensors.insert_or_assign(name + ".weight", mx::ones({dims}, dtype));
  };
  matrix("model.embed_tokens", TinyModel::vocab_size, dims);
  ones("model.norm");
  for (int i = 0; i < layers; ++i) {
    const auto layer = fmt::format("model.layers.{}.", i);
    ones(layer + "input_layernorm");
    ones(layer + "post_attention_layernorm");
    matrix(layer + "self_attn.q_proj", heads * head_dim, dims);
    matrix(layer + "self_attn.k_proj", kv_heads * head_dim, dims);
    matrix(layer + "self_attn.v_proj", kv_heads * head_dim, dims);
    matrix(layer + "self_attn.o_proj", dims, heads * head_dim);
    matrix(layer + "mlp.gate_proj", hidden, dims);
    matrix(layer + "mlp.up_proj", hidden, dims);
    matrix(layer + "mlp.down_proj", dims, hidden);
  }
  return tensors;
}

}  // namespace

TinyModel::TinyModel(TinyModelOptions options) {
  static std::atomic<int> count{0};
  folder_ = fs::temp_directory_path() / fmt::format("hearth-tiny-{}-{}", ::getpid(), ++count);
  fs::create_directories(folder_);
  Json config{{"model_type", "llama"},
              {"hidden_size", dims},
              {"intermediate_size", hidden},
              {"num_hidden_layers", layers},
              {"num_attention_heads", heads},
              {"num_key_value_heads", kv_heads},
              {"rms_norm_eps", 1e-5},
              {"vocab_size", vocab_size},
              {"max_position_embeddings", options.context_length},
              {"tie_word_embeddings", true}};
  if (options.window > 0) {
    config["layer_types"] = {"sliding_attention", "full_attention"};
    config["sliding_window"] = options.window;
  }
  if (options.quantized) config["quantization"] = {{"group_size", group_size}, {"bits", bits}};
  if (auto ok = write_file(folder_ / "config.json", config.dump()); !ok) {
    throw std::runtime_error(ok.error().message);
  }
  mx::save_safetensors((folder_ / "model.safetensors").string(), random_weights(options.quantized));
}

TinyModel::~TinyModel() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace hearth::engine
