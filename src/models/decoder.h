// What decoders share: the frame of embedding, final norm and head around a family's blocks, and
// the pre-norm block of Llama and its kin.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "models/config.h"
#include "models/model.h"
#include "tensor/attention.h"
#include "tensor/mlp.h"

namespace hearth::models {

/// What happens to the numbers before the first layer and after the head.
struct Scaling {
  double embedding = 1;       // times the embeddings
  double hidden_divisor = 1;  // of what the head sees
  double logits_divisor = 1;  // of the logits
  float softcap = 0;          // of the logits; 0: none
};

/// Embedding and head of a decoder, tied or not.
class DecoderFrame {
 public:
  /// @param w  the root: takes model.embed_tokens and, where it is not tied, lm_head
  DecoderFrame(const DecoderConfig& c, const tensor::Weights& w, Scaling scaling = {});
  Array embed(const Array& tokens) const;
  Array head(const Array& normalised) const;
  int vocab_size() const { return vocab_size_; }

 private:
  int vocab_size_;
  Scaling scaling_;
  tensor::Embedding embed_tokens_;
  std::optional<tensor::Linear> lm_head_;
};

/// A family's blocks in the frame. A block is called with x [1, T, D] and its layer's cache.
template <class Block, class Norm = tensor::RmsNorm>
class Decoder final : public Model {
 public:
  Decoder(DecoderFrame frame, std::vector<Block> layers, Norm norm, std::vector<CacheSpec> caches)
      : frame_(std::move(frame)), layers_(std::move(layers)), norm_(std::move(norm)),
        caches_(std::move(caches)) {}

  Array forward(const Array& tokens, StepCache& cache) const override {
    auto h = frame_.embed(tokens);
    for (std::size_t i = 0; i < layers_.size(); ++i) h = layers_[i](h, cache[i]);
    return h;
  }
  Array normalised(const Array& hidden) const override { return norm_(hidden); }
  Array logits(const Array& hidden) const override { return frame_.head(norm_(hidden)); }
  std::vector<CacheSpec> caches() const override { return caches_; }
  int vocab_size() const override { return frame_.vocab_size(); }

 private:
  DecoderFrame frame_;
  std::vector<Block> layers_;
  Norm norm_;
  std::vector<CacheSpec> caches_;
};

using Mixer = std::function<Array(const Array& x, tensor::LayerCache cache)>;
using FeedForward = std::function<Array(const Array& x)>;
/// The gated MLP by its name, so that the sum after it can be one with its last product.
using AnyMlp = std::variant<tensor::GatedMlp, FeedForward>;

/// Norm, attention, norm, feed-forward, each added. Source: mlx-lm models/llama.py,
/// TransformerBlock.
class PreNormBlock {
 public:
  PreNormBlock(Mixer self_attn, AnyMlp mlp, tensor::RmsNorm input_layernorm,
               tensor::RmsNorm post_attention_layernorm, double residual_multiplier = 1)
      : self_attn_(std::move(self_attn)), mlp_(std::move(mlp)),
        input_layernorm_(std::move(input_layernorm)),
        post_attention_layernorm_(std::move(post_attention_layernorm)),
        residual_multiplier_(residual_multiplier) {}
  /// x [1, T, D] -> [1, T, D]
  Array operator()(const Array& x, tensor::LayerCache cache) const;

 private:
  Mixer self_attn_;
  AnyMlp mlp_;
  tensor::RmsNorm input_layernorm_, post_attention_layernorm_;
  double residual_multiplier_;
};

/// What tells one family of pre-norm decoders from another.
struct DecoderSettings {
  DecoderConfig config;
  tensor::AttentionSettings attention;
  tensor::MlpSettings mlp;
  std::array<const char*, 3> norm_names{"input_layernorm", "post_attention_layernorm", "norm"};
  tensor::RmsNorm::Stored norms = tensor::RmsNorm::Stored::weight;
  tensor::RopeSettings rope;
  Scaling scaling;
  double residual_multiplier = 1;
  std::vector<int> windows;    // by layer; 0: full attention
  std::vector<bool> unturned;  // by layer: no rotation; empty: none of them
  /// A layer's own mixer and what it caches, of the block's view; a null one: attention as above.
  std::function<Mixer(int layer, const tensor::Weights& block, CacheSpec& cache)> mixer;
  /// A layer's own feed-forward, of the block's view; null: the gated MLP at "mlp".
  std::function<FeedForward(int layer, const tensor::Weights& block)> feed_forward;

  /// Llama's choices for a config; a family then changes what is its own.
  explicit DecoderSettings(const DecoderConfig& config);
};

/// Pre-norm blocks in the frame. Source: mlx-lm models/llama.py, Model.
/// @param w  the root of model.* and lm_head
std::unique_ptr<Model> make_decoder(const DecoderSettings& settings, const tensor::Weights& w);

/// The rotation that a config asks for, of whole heads.
tensor::RopeSettings rope_settings(const DecoderConfig& c);
/// Llama's attention for a config.
tensor::AttentionSettings attention_settings(const DecoderConfig& c);
/// Alike for all layers, with full attention.
std::vector<CacheSpec> full_caches(const DecoderConfig& c);

/// By layer: sliding_window where layer_types says "sliding_attention", else 0.
/// @throws std::invalid_argument where the list does not fit
std::vector<int> sliding_windows(const Json& config, int layers);

/// Tensors that mlx-lm's sanitize drops: stored rotary frequencies, and the head of a tied model.
bool decoder_drops(const Json& config, std::string_view tensor, bool tied_by_default);

}  // namespace hearth::models
