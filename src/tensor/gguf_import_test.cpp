#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>

#include "tensor/gguf.h"
#include "tensor/half.h"
#include "tensor/test_gguf.h"

namespace hearth::tensor {
namespace {

namespace mx = mlx::core;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string floats(std::size_t count, const std::function<float(std::size_t)>& at) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += raw(at(i));
  return out;
}
std::string ones(std::size_t count) {
  return floats(count, [](std::size_t) { return 1.0f; });
}
/// Row r of `columns` numbers is all r.
std::string row_numbers(std::size_t rows, std::size_t columns) {
  return floats(rows * columns, [=](std::size_t i) { return static_cast<float>(i / columns); });
}
/// Zero blocks of these many bytes for so many rows of 32.
std::string blocks(std::size_t rows, std::size_t bytes) { return std::string(rows * bytes, '\0'); }

/// Metadata of a model of one layer, 32 wide, with two heads of 16 over one.
GgufBytes model(const std::string& arch) {
  GgufBytes file;
  file.text("general.architecture", arch)
      .number(arch + ".block_count", 1)
      .number(arch + ".context_length", 64)
      .number(arch + ".embedding_length", 32)
      .number(arch + ".feed_forward_length", 96)
      .number(arch + ".attention.head_count", 2)
      .number(arch + ".attention.head_count_kv", 1)
      .real(arch + ".attention.layer_norm_rms_epsilon", 1e-6f)
      .real(arch + ".rope.freq_base", 10000.0f);
  return file;
}

Result<Checkpoint> load(const GgufBytes& file) {
  const ScratchFolder folder;
  return load_checkpoint(folder.write("x.gguf", file.bytes()));
}

Checkpoint loaded(const GgufBytes& file) {
  auto out = load(file);
  if (!out) throw std::runtime_error(out.error().message);
  return std::move(*out);
}

Error error_of(const GgufBytes& file) {
  const auto out = load(file);
  return out ? Error{.message = "it loaded"} : out.error();
}

std::vector<float> first_column(const Array& array) {
  std::vector<float> out;
  for (int i = 0; i < array.shape(0); ++i) {
    out.push_back(array.data<float>()[i * static_cast<int>(array.size()) / array.shape(0)]);
  }
  return out;
}

TEST(gguf_import, config_has_the_keys_of_mlx_lm) {
  auto file = model("llama");
  file.number("tokenizer.ggml.bos_token_id", 1)
      .number("tokenizer.ggml.eos_token_id", 2)
      .number("tokenizer.ggml.eot_token_id", 7)
      .tensor("token_embd.weight", {32, 5}, f32, ones(160));
  EXPECT_EQ(loaded(file).config, Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
    "num_hidden_layers": 1, "intermediate_size": 96, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 16, "rms_norm_eps": 1e-06, "rope_theta": 10000.0,
    "max_position_embeddings": 64, "tie_word_embeddings": true, "attention_bias": false,
    "vocab_size": 5, "mlp_bias": false, "hidden_act": "silu", "bos_token_id": 1,
    "eos_token_id": [2, 7]})"));
}

TEST(gguf_import, gemma3_gets_its_windows_and_query_scale) {
  auto file = model("gemma3");
  file.number("gemma3.attention.sliding_window", 512)
      .number("gemma3.attention.sliding_window_pattern", 1)
      .number("gemma3.attention.key_length", 16)
      .tensor("token_embd.weight", {32, 5}, f32, ones(160));
  const Json config = loaded(file).config;
  EXPECT_EQ(config["model_type"], "gemma3_text");
  EXPECT_EQ(config["query_pre_attn_scalar"], 16);
  EXPECT_EQ(config["sliding_window"], 512);
  EXPECT_EQ(config["layer_types"], Json::array({"full_attention"}));
  EXPECT_EQ(config["rope_local_base_freq"], 10000.0);
}

TEST(gguf_import, gemmas_norms_lose_the_one_that_gguf_adds) {
  auto file = model("gemma3");
  file.number("gemma3.attention.sliding_window", 512)
      .tensor("token_embd.weight", {32, 5}, f32, ones(160))
      .tensor("blk.0.post_ffw_norm.weight", {32}, f32,
              floats(32, [](std::size_t i) { return 1.0f + 0.25f * static_cast<float>(i); }))
      .tensor("output_norm.weight", {32}, f32, ones(32));
  const auto checkpoint = loaded(file);
  const auto& norm = checkpoint.tensors.at("model.layers.0.post_feedforward_layernorm.weight");
  EXPECT_EQ(norm.data<float>()[0], 0.0f);
  EXPECT_EQ(norm.data<float>()[3], 0.75f);
  EXPECT_EQ(checkpoint.tensors.at("model.norm.weight").data<float>()[5], 0.0f);
}

TEST(gguf_import, llamas_rotary_rows_go_back_to_halves) {
  auto file = model("llama");
  file.tensor("token_embd.weight", {32, 5}, f32, ones(160))
      .tensor("blk.0.attn_q.weight", {32, 32}, f32, row_numbers(32, 32))
      .tensor("blk.0.attn_k.weight", {32, 16}, f32, row_numbers(16, 32))
      .tensor("blk.0.attn_v.weight", {32, 16}, f32, row_numbers(16, 32));
  const auto tensors = loaded(file).tensors;
  EXPECT_THAT(first_column(tensors.at("model.layers.0.self_attn.q_proj.weight")),
              ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,  //
                          16, 18, 20, 22, 24, 26, 28, 30, 17, 19, 21, 23, 25, 27, 29, 31));
  EXPECT_THAT(first_column(tensors.at("model.layers.0.self_attn.k_proj.weight")),
              ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
  EXPECT_THAT(first_column(tensors.at("model.layers.0.self_attn.v_proj.weight")),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

TEST(gguf_import, quantised_rows_and_biases_are_reordered_alike) {
  auto file = model("llama");
  std::string rows;
  for (int r = 0; r < 32; ++r) {
    rows += raw(float_to_half(static_cast<float>(r))) + std::string(32, '\1');
  }
  file.tensor("token_embd.weight", {32, 5}, f32, ones(160))
      .tensor("blk.0.attn_q.weight", {32, 32}, q8_0, rows)
      .tensor("blk.0.attn_q.bias", {32}, f32, row_numbers(32, 1));
  const auto tensors = loaded(file).tensors;
  const auto& scales = tensors.at("model.layers.0.self_attn.q_proj.scales");
  const auto& bias = tensors.at("model.layers.0.self_attn.q_proj.bias");
  ASSERT_EQ(scales.dtype(), mx::float16);
  ASSERT_EQ(bias.dtype(), mx::float16);
  for (int i = 0; i < 32; ++i) {
    const float row =
        static_cast<float>(i / 16 * 16 + (i % 16 < 8 ? i % 16 * 2 : (i % 16 - 8) * 2 + 1));
    EXPECT_EQ(half_to_float(scales.data<std::uint16_t>()[i]), row);
    EXPECT_EQ(half_to_float(bias.data<std::uint16_t>()[i]), row);
  }
  EXPECT_EQ(tensors.at("model.layers.0.self_attn.q_proj.weight").data<std::uint32_t>()[0],
            0x81818181u);
}

TEST(gguf_import, qwens_rows_stay_where_they_are) {
  for (const char* arch : {"qwen2", "qwen3"}) {
    auto file = model(arch);
    file.tensor("token_embd.weight", {32, 5}, f32, ones(160))
        .tensor("blk.0.attn_k.weight", {32, 16}, f32, row_numbers(16, 32));
    const auto checkpoint = loaded(file);
    EXPECT_EQ(checkpoint.config["model_type"], arch);
    EXPECT_THAT(first_column(checkpoint.tensors.at("model.layers.0.self_attn.k_proj.weight")),
                ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  }
}

TEST(gguf_import, quantization_has_a_default_and_exceptions) {
  auto file = model("qwen3");
  file.tensor("token_embd.weight", {32, 5}, q8_0, blocks(5, 34))
      .tensor("blk.0.ffn_gate.weight", {32, 96}, q4_0, blocks(96, 18))
      .tensor("blk.0.ffn_up.weight", {32, 96}, q4_0, blocks(96, 18))
      .tensor("output.weight", {32, 5}, f16, blocks(5, 64))
      .tensor("output_norm.weight", {32}, f32, ones(32));
  const auto checkpoint = loaded(file);
  EXPECT_EQ(checkpoint.config["quantization"],
            Json::parse(R"({"group_size": 32, "bits": 4, "mode": "affine", "lm_head": false,
                            "model.embed_tokens": {"group_size": 32, "bits": 8}})"));
  EXPECT_EQ(checkpoint.config["tie_word_embeddings"], false);
  const auto& tensors = checkpoint.tensors;
  EXPECT_EQ(tensors.at("model.layers.0.mlp.gate_proj.weight").shape(), (mx::Shape{96, 4}));
  EXPECT_EQ(tensors.at("model.layers.0.mlp.gate_proj.scales").shape(), (mx::Shape{96, 1}));
  EXPECT_EQ(tensors.at("model.embed_tokens.weight").shape(), (mx::Shape{5, 8}));
  EXPECT_EQ(tensors.at("lm_head.weight").dtype(), mx::float16);
  EXPECT_EQ(tensors.at("model.norm.weight").dtype(), mx::float16);  // as the scales
  EXPECT_TRUE(checkpoint.notes.empty());
  std::size_t bytes = 0;
  for (const auto& [name, array] : tensors) bytes += array.nbytes();
  EXPECT_EQ(checkpoint.bytes, bytes);
}

TEST(gguf_import, dense_tensors_share_the_type_of_the_matrices) {
  for (const auto& [type, dtype, size] :
       {std::tuple{f32, mx::float32, 4}, {f16, mx::float16, 2}, {bf16, mx::bfloat16, 2}}) {
    auto file = model("qwen3");
    file.tensor("token_embd.weight", {32, 5}, type, blocks(5, static_cast<std::size_t>(32 * size)))
        .tensor("output_norm.weight", {32}, f32, ones(32));
    const auto checkpoint = loaded(file);
    EXPECT_EQ(checkpoint.tensors.at("model.embed_tokens.weight").dtype(), dtype);
    auto norm = mx::astype(checkpoint.tensors.at("model.norm.weight"), mx::float32);
    EXPECT_EQ(checkpoint.tensors.at("model.norm.weight").dtype(), dtype);
    norm.eval();
    EXPECT_EQ(norm.data<float>()[31], 1.0f);
    EXPECT_FALSE(checkpoint.config.contains("quantization"));
  }
}

TEST(gguf_import, requantised_types_leave_a_note) {
  auto file = model("qwen3");
  file.tensor("token_embd.weight", {256, 5}, q6_k, blocks(5, 210));
  const auto checkpoint = loaded(file);
  EXPECT_THAT(checkpoint.notes,
              ElementsAre(HasSubstr("1 Q6_K tensor requantised to 8 bits in groups of 32")));
  EXPECT_EQ(checkpoint.config["quantization"]["bits"], 8);
}

/// The divisors that converters write for Llama 3.
std::string llama3_divisors(float factor, float original) {
  return floats(8, [=](std::size_t i) {
    const double wavelength = 2 * std::numbers::pi * std::pow(10000.0, static_cast<double>(i) / 8);
    if (wavelength < original / 4) return 1.0f;
    if (wavelength > original) return factor;
    const double smooth = (original / wavelength - 1) / 3;
    return static_cast<float>(1 / ((1 - smooth) / factor + smooth));
  });
}

TEST(gguf_import, rope_scalings_become_those_of_transformers) {
  const auto scaling = [](const std::function<void(GgufBytes&)>& add) {
    auto file = model("llama");
    add(file);
    file.tensor("token_embd.weight", {32, 5}, f32, ones(160));
    return loaded(file).config.value("rope_scaling", Json());
  };
  EXPECT_EQ(scaling([](GgufBytes&) {}), Json());
  EXPECT_EQ(scaling([](GgufBytes& f) { f.text("llama.rope.scaling.type", "none"); }), Json());
  EXPECT_EQ(scaling([](GgufBytes& f) {
              f.text("llama.rope.scaling.type", "linear").real("llama.rope.scaling.factor", 8.0f);
            }),
            Json::parse(R"({"rope_type": "linear", "factor": 8.0})"));
  EXPECT_EQ(scaling([](GgufBytes& f) { f.real("llama.rope.scale_linear", 4.0f); }),
            Json::parse(R"({"rope_type": "linear", "factor": 4.0})"));
  EXPECT_EQ(scaling([](GgufBytes& f) {
              f.text("llama.rope.scaling.type", "yarn")
                  .real("llama.rope.scaling.factor", 4.0f)
                  .number("llama.rope.scaling.original_context_length", 32768);
            }),
            Json::parse(R"({"rope_type": "yarn", "factor": 4.0,
                            "original_max_position_embeddings": 32768})"));
  EXPECT_EQ(scaling([](GgufBytes& f) {
              f.tensor("rope_freqs.weight", {8}, f32, llama3_divisors(32, 8192));
            }),
            Json::parse(R"({"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})"));
}

TEST(gguf_import, what_nothing_here_reads_is_named) {
  const auto with = [](const std::function<void(GgufBytes&)>& add) {
    auto file = model("llama");
    add(file);
    file.tensor("token_embd.weight", {32, 5}, f32, ones(160));
    const Error error = error_of(file);
    EXPECT_EQ(error.code, ErrorCode::unsupported) << error.message;
    EXPECT_THAT(error.message, HasSubstr("x.gguf"));
    return error.message;
  };
  EXPECT_THAT(with([](GgufBytes& f) {
                f.tensor("blk.0.ffn_gate_exps.weight", {32, 5}, f32, ones(160));
              }),
              HasSubstr("tensor blk.0.ffn_gate_exps.weight: not a tensor of llama"));
  EXPECT_THAT(with([](GgufBytes& f) {
                f.tensor("blk.1.attn_v.weight", {32, 5}, f32, ones(160));
              }),
              HasSubstr("blk.1.attn_v.weight"));
  EXPECT_THAT(
      with([](GgufBytes& f) { f.tensor("blk.0.attn_v.weight", {256}, iq4_xs, blocks(1, 136)); }),
      AllOf(HasSubstr("tensor blk.0.attn_v.weight"), HasSubstr("IQ4_XS")));
  EXPECT_THAT(with([](GgufBytes& f) {
                f.tensor("blk.0.attn_v.weight", {32, 5, 2}, f32, ones(320));
              }),
              HasSubstr("expected a matrix"));
  EXPECT_THAT(
      with([](GgufBytes& f) { f.tensor("rope_freqs.weight", {8}, f32, ones(8 - 1) + raw(3.0f)); }),
      HasSubstr("rope_freqs.weight"));
  EXPECT_THAT(
      with([](GgufBytes& f) {
        f.text("llama.rope.scaling.type", "longrope").real("llama.rope.scaling.factor", 2.0f);
      }),
      HasSubstr("'longrope'"));
  EXPECT_THAT(with([](GgufBytes& f) {
                f.number("llama.attention.key_length", 16).number("llama.rope.dimension_count", 8);
              }),
              HasSubstr("rotates 8 of 16"));
  EXPECT_THAT(with([](GgufBytes& f) { f.number("split.count", 3); }), HasSubstr("one of 3 parts"));
  const Error other = error_of(model("phi3"));
  EXPECT_EQ(other.code, ErrorCode::unsupported);
  EXPECT_THAT(other.message, AllOf(HasSubstr("'phi3'"), HasSubstr("gemma3, llama, qwen2, qwen3")));
}

TEST(gguf_import, missing_and_mistyped_metadata_is_named) {
  GgufBytes file;
  EXPECT_THAT(error_of(file).message, HasSubstr("general.architecture"));
  file.text("general.architecture", "llama");
  EXPECT_EQ(error_of(file).code, ErrorCode::corrupt_file);
  EXPECT_THAT(error_of(file).message, HasSubstr("metadata has no llama.attention.head_count"));
  file.text("llama.attention.head_count", "two");
  EXPECT_THAT(error_of(file).message, HasSubstr("llama.attention.head_count is \"two\""));
  EXPECT_THAT(error_of(model("llama")).message, HasSubstr("token_embd.weight is missing"));
}

TEST(gguf_import, rows_that_are_no_heads_are_refused) {
  auto file = model("llama");
  file.tensor("token_embd.weight", {32, 5}, f32, ones(160))
      .tensor("blk.0.attn_q.weight", {32, 24}, f32, ones(768));
  const Error error = error_of(file);
  EXPECT_EQ(error.code, ErrorCode::corrupt_file);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("blk.0.attn_q.weight"), HasSubstr("24 rows, expected 32")));
}

TEST(gguf_import, numbers_beyond_float16_are_refused_beside_quantised_tensors) {
  auto file = model("qwen3");
  file.tensor("token_embd.weight", {32, 5}, q8_0, blocks(5, 34))
      .tensor("output_norm.weight", {32}, f32, floats(32, [](std::size_t) { return 1e6f; }));
  EXPECT_THAT(error_of(file).message, AllOf(HasSubstr("output_norm.weight"), HasSubstr("65504")));
}

}  // namespace
}  // namespace hearth::tensor
