// BERT encoders, as MiniLM, BGE and E5 are: learned positions, norms after each part.
// They make embeddings and no text.
// Reference: arXiv 1810.04805; transformers, BertModel (tests/live/cli_embed_test.py).
#include <cmath>
#include <stdexcept>

#include "models/decoder.h"
#include "models/family.h"

namespace hearth::models {
namespace {

namespace mx = mlx::core;
using tensor::LayerNorm;
using tensor::Linear;
using tensor::Weights;

struct Config {
  int hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, vocab_size;
  int max_position_embeddings, type_vocab_size;
  float layer_norm_eps;

  explicit Config(const Json& json) {
    const ConfigReader c(json);
    hidden_size = c.integer("hidden_size");
    num_hidden_layers = c.integer("num_hidden_layers", {}, 1, 4096);
    num_attention_heads = c.integer("num_attention_heads", {}, 1, 4096);
    intermediate_size = c.integer("intermediate_size");
    vocab_size = c.integer("vocab_size");
    max_position_embeddings = c.integer("max_position_embeddings", 512);
    type_vocab_size = c.integer("type_vocab_size", 2);
    layer_norm_eps = c.number("layer_norm_eps", 1e-12f);
    const Json activation = c.value("hidden_act");
    if (!activation.is_null() && activation != "gelu") {
      throw std::invalid_argument("config.json \"hidden_act\" is " + activation.dump() +
                                  ", expected \"gelu\"");
    }
    const Json position = c.value("position_embedding_type");
    if (!position.is_null() && position != "absolute") {
      throw std::invalid_argument("config.json \"position_embedding_type\" is " + position.dump() +
                                  ", expected \"absolute\"");
    }
    if (hidden_size % num_attention_heads != 0) {
      throw std::invalid_argument("config.json: num_attention_heads must divide hidden_size");
    }
  }
};

struct Block {
  tensor::FusedLinear qkv;
  Linear attention_output;
  LayerNorm attention_norm;
  Linear intermediate, output;
  LayerNorm output_norm;
  int heads;

  Block(const Config& c, const Weights& w)
      : qkv({w["attention"]["self"]["query"], w["attention"]["self"]["key"],
             w["attention"]["self"]["value"]},
            {c.hidden_size, c.hidden_size, c.hidden_size}, c.hidden_size, /*bias=*/true),
        attention_output(w["attention"]["output"]["dense"], c.hidden_size, c.hidden_size, true),
        attention_norm(w["attention"]["output"]["LayerNorm"], c.hidden_size, c.layer_norm_eps),
        intermediate(w["intermediate"]["dense"], c.intermediate_size, c.hidden_size, true),
        output(w["output"]["dense"], c.hidden_size, c.intermediate_size, true),
        output_norm(w["output"]["LayerNorm"], c.hidden_size, c.layer_norm_eps),
        heads(c.num_attention_heads) {}

  // x: [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const {
    const auto parts = qkv(x);
    const auto by_head = [&](const Array& part) {
      return tensor::heads_first(tensor::split_heads(part, heads));
    };
    const float scale = 1 / std::sqrt(static_cast<float>(x.shape(2) / heads));
    const auto attended = tensor::merge_heads(cache.attend(
        by_head(parts[0]), by_head(parts[1]), by_head(parts[2]), tensor::Rope(), {scale}));
    const auto h = attention_norm(attention_output(attended) + x);
    return output_norm(output(tensor::gelu(intermediate(h))) + h);
  }
};

class Bert final : public Model {
 public:
  Bert(const Config& c, const Weights& w)
      : c_(c), words_(w["embeddings"]["word_embeddings"], c.vocab_size, c.hidden_size),
        positions_(w["embeddings"]["position_embeddings"], c.max_position_embeddings,
                   c.hidden_size),
        types_(w["embeddings"]["token_type_embeddings"], c.type_vocab_size, c.hidden_size),
        norm_(w["embeddings"]["LayerNorm"], c.hidden_size, c.layer_norm_eps) {
    for (int i = 0; i < c.num_hidden_layers; ++i) {
      layers_.emplace_back(c, w["encoder"]["layer"][i]);
    }
  }

  Array forward(const Array& tokens, StepCache& cache) const override {
    auto h = norm_(words_(tokens) + types_(mx::zeros_like(tokens)) + positions_(places(cache)));
    for (std::size_t i = 0; i < layers_.size(); ++i) h = layers_[i](h, cache[i]);
    return h;
  }

  Array normalised(const Array& hidden) const override { return hidden; }
  Array logits(const Array&) const override {
    throw std::logic_error("an encoder has no output head");
  }

  std::vector<CacheSpec> caches() const override {
    return std::vector<CacheSpec>(c_.num_hidden_layers, CacheSpec{.both_ways = true});
  }
  int vocab_size() const override { return c_.vocab_size; }

 private:
  /// Each row's tokens from its first position on: [1, T]
  Array places(const StepCache& cache) const {
    std::vector<Array> rows;
    for (const auto& row : cache.rows()) {
      rows.push_back(mx::arange(0, row.length));
    }
    return mx::expand_dims(mx::concatenate(rows, 0), 0);
  }

  Config c_;
  tensor::Embedding words_, positions_, types_;
  LayerNorm norm_;
  std::vector<Block> layers_;
};

std::unique_ptr<Model> load(const Json& config, const Weights& w) {
  w.move("bert.", "");
  return std::make_unique<Bert>(Config(config), w);
}

bool drops(const Json&, std::string_view tensor) {
  return tensor.starts_with("pooler.") || tensor.starts_with("cls.") ||
         tensor.starts_with("lm_head.") || tensor.ends_with("position_ids");
}

const Registered bert{{
    .model_types = {"bert"},
    .load = load,
    .drops = drops,
}};

}  // namespace
}  // namespace hearth::models
