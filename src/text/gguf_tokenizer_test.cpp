#include "text/gguf_tokenizer.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "text/tokenizer.h"

namespace hearth::text {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

enum Type { normal = 1, unknown = 2, control = 3, user_defined = 4, byte = 6 };

struct Vocabulary {
  Json metadata;
  Vocabulary& add(std::string_view token, Type type = normal, double score = 0) {
    metadata["tokenizer.ggml.tokens"].push_back(token);
    metadata["tokenizer.ggml.token_type"].push_back(static_cast<int>(type));
    if (metadata["tokenizer.ggml.model"] == "llama") {
      metadata["tokenizer.ggml.scores"].push_back(score);
    }
    return *this;
  }
};

/// 0 a, 1 b, 2 ab, 3 space, 4 " ab", 5 1, 6 2, 7 12, 8 <|im_end|>, 9 <tool_call>, 10 <extra>
Vocabulary byte_level(std::string_view pre) {
  Vocabulary out{{{"tokenizer.ggml.model", "gpt2"},
                  {"tokenizer.ggml.pre", pre},
                  {"tokenizer.ggml.merges", {"a b", "Ġ ab", "1 2"}},
                  {"tokenizer.ggml.bos_token_id", 8},
                  {"tokenizer.ggml.eos_token_id", 8}}};
  for (const char* token : {"a", "b", "ab", "Ġ", "Ġab", "1", "2", "12"}) out.add(token);
  out.add("<|im_end|>", control).add("<tool_call>", control).add("<extra>", user_defined);
  return out;
}

/// 0 <unk>, 1 <s>, 2 </s>, 3 to 258 the bytes, then the pieces.
Vocabulary sentencepiece() {
  Vocabulary out{{{"tokenizer.ggml.model", "llama"},
                  {"tokenizer.ggml.unknown_token_id", 0},
                  {"tokenizer.ggml.bos_token_id", 1},
                  {"tokenizer.ggml.eos_token_id", 2}}};
  out.add("<unk>", unknown).add("<s>", control).add("</s>", control);
  for (int i = 0; i < 256; ++i) {
    constexpr char digits[] = "0123456789ABCDEF";
    out.add(std::string("<0x") + digits[i / 16] + digits[i % 16] + ">", byte);
  }
  return out;
}

std::shared_ptr<const Tokenizer> tokenizer(const Json& metadata) {
  const auto made = gguf_tokenizer(metadata);
  if (!made) throw std::runtime_error(made.error().message);
  auto loaded = Tokenizer::from_json(made->tokenizer_json, made->tokenizer_config);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return *loaded;
}

std::vector<TokenId> encode(const Json& metadata, std::string_view text, bool add_special = false) {
  return tokenizer(metadata)->encode(text, {.add_special = add_special}).value();
}

Error error_of(const Json& metadata) {
  const auto made = gguf_tokenizer(metadata);
  return made ? Error{.message = "it was read"} : made.error();
}

TEST(gguf_tokenizer, byte_level_vocabularies_merge_as_stored) {
  const Json metadata = byte_level("gpt-2").metadata;
  EXPECT_THAT(encode(metadata, "ab ab<|im_end|>b<extra>"), ElementsAre(2, 4, 8, 1, 10));
  EXPECT_EQ(tokenizer(metadata)->decode(std::vector<TokenId>{2, 4, 1}, false), "ab abb");
}

TEST(gguf_tokenizer, pre_decides_how_digits_split) {
  EXPECT_THAT(encode(byte_level("gpt-2").metadata, "12"), ElementsAre(7));
  EXPECT_THAT(encode(byte_level("smollm").metadata, "12"), ElementsAre(5, 6));
  EXPECT_THAT(encode(byte_level("qwen2").metadata, "12"), ElementsAre(5, 6));
  EXPECT_THAT(encode(byte_level("llama-bpe").metadata, "12"), ElementsAre(7));
}

TEST(gguf_tokenizer, every_known_pre_makes_a_tokenizer) {
  for (const char* pre : {"default", "gpt-2", "mpt", "smollm", "starcoder", "command-r",
                          "llama-bpe", "smaug-bpe", "qwen2", "qwen35", "stablelm2", "tekken",
                          "gpt-4o", "deepseek-v3", "deepseek-llm", "deepseek-coder", "falcon"}) {
    EXPECT_THAT(encode(byte_level(pre).metadata, "ab ab"), ElementsAre(2, 4)) << pre;
  }
  Json without = byte_level("x").metadata;
  without.erase("tokenizer.ggml.pre");
  EXPECT_THAT(encode(without, "ab"), ElementsAre(2));
}

TEST(gguf_tokenizer, control_tokens_are_special_but_tool_markers_are_seen) {
  const auto made = tokenizer(byte_level("qwen2").metadata);
  EXPECT_TRUE(made->is_special(8));
  EXPECT_FALSE(made->is_special(9));
  EXPECT_FALSE(made->is_special(10));
  EXPECT_EQ(made->decode(std::vector<TokenId>{9, 0, 8}, true), "<tool_call>a");
}

TEST(gguf_tokenizer, begin_and_end_are_added_as_the_file_says) {
  Json metadata = byte_level("llama-bpe").metadata;
  EXPECT_THAT(encode(metadata, "a", true), ElementsAre(8, 0));  // Llama 3 does without being told
  EXPECT_THAT(encode(metadata, "a", false), ElementsAre(0));
  metadata["tokenizer.ggml.add_bos_token"] = false;
  metadata["tokenizer.ggml.add_eos_token"] = true;
  EXPECT_THAT(encode(metadata, "a", true), ElementsAre(0, 8));
  EXPECT_THAT(encode(byte_level("gpt-2").metadata, "a", true), ElementsAre(0));
}

TEST(gguf_tokenizer, stop_ids_are_those_of_the_file_and_known_spellings) {
  Json metadata = byte_level("qwen2").metadata;
  metadata["tokenizer.ggml.eos_token_id"] = 3;
  metadata["tokenizer.ggml.eot_token_id"] = 10;
  EXPECT_THAT(tokenizer(metadata)->stop_ids(), UnorderedElementsAre(3, 8, 10));
}

TEST(gguf_tokenizer, sentencepiece_pieces_merge_by_score) {
  auto vocabulary = sentencepiece();
  for (const char* piece : {"▁", "a", "b", "c"}) vocabulary.add(piece, normal, -100);  // 259 on
  vocabulary.add("bc", normal, -1).add("ab", normal, -2).add("▁ab", normal, -3);       // 263 on
  const Json metadata = vocabulary.metadata;
  EXPECT_THAT(encode(metadata, "abc"), ElementsAre(259, 260, 263));  // ▁ a bc: bc merges first
  EXPECT_THAT(encode(metadata, "ab", true), ElementsAre(1, 265));
  EXPECT_THAT(encode(metadata, "é"), ElementsAre(259, 3 + 0xc3, 3 + 0xa9));
  EXPECT_EQ(tokenizer(metadata)->decode(std::vector<TokenId>{265, 259, 3 + 0xc3, 3 + 0xa9}, false),
            "ab é");
}

TEST(gguf_tokenizer, user_defined_runs_of_spaces_merge_first) {
  auto vocabulary = sentencepiece();
  vocabulary.metadata["tokenizer.ggml.add_space_prefix"] = false;
  vocabulary.add("▁", normal, -100).add("a", normal, -100).add("▁a", normal, -1);  // 259 on
  vocabulary.add("  ", user_defined, -1000);  // 262, spelled with spaces in the file
  EXPECT_THAT(encode(vocabulary.metadata, "a   a"), ElementsAre(260, 262, 261));
  EXPECT_THAT(encode(vocabulary.metadata, "a  a"), ElementsAre(260, 262, 260));
}

TEST(gguf_tokenizer, odd_texts_in_a_vocabulary_stay_themselves) {
  auto vocabulary = sentencepiece();
  vocabulary.add("\"").add("\\").add("\n").add("\t\"\\").add("a").add("a");  // a twice
  const auto made = tokenizer(vocabulary.metadata);
  EXPECT_EQ(made->piece(259), "\"");
  EXPECT_EQ(made->piece(260), "\\");
  EXPECT_EQ(made->piece(261), "\n");
  EXPECT_EQ(made->piece(262), "\t\"\\");
  EXPECT_EQ(made->id_of("a"), 263);
}

TEST(gguf_tokenizer, templates_come_with_their_names) {
  Json metadata = byte_level("qwen2").metadata;
  EXPECT_EQ(gguf_tokenizer(metadata)->chat_template, "");
  metadata["tokenizer.chat_template"] = "{{ one }}";
  EXPECT_EQ(gguf_tokenizer(metadata)->chat_template, "{{ one }}");
  EXPECT_FALSE(gguf_tokenizer(metadata)->tokenizer_config.contains("chat_template"));
  metadata["tokenizer.chat_template.tool_use"] = "{{ two }}";
  EXPECT_EQ(gguf_tokenizer(metadata)->tokenizer_config["chat_template"],
            Json::parse(R"([{"name": "default", "template": "{{ one }}"},
                            {"name": "tool_use", "template": "{{ two }}"}])"));
}

TEST(gguf_tokenizer, config_names_the_special_tokens) {
  const Json config = gguf_tokenizer(sentencepiece().metadata)->tokenizer_config;
  EXPECT_EQ(config["bos_token"], "<s>");
  EXPECT_EQ(config["eos_token"], "</s>");
  EXPECT_EQ(config["unk_token"], "<unk>");
  EXPECT_EQ(config["pad_token"], Json());
  EXPECT_EQ(config["add_bos_token"], true);
}

TEST(gguf_tokenizer, what_is_not_read_is_named) {
  EXPECT_EQ(error_of(Json::object()).code, ErrorCode::not_found);
  const Error bert = error_of({{"tokenizer.ggml.model", "bert"}});
  EXPECT_EQ(bert.code, ErrorCode::unsupported);
  EXPECT_THAT(bert.message, HasSubstr("'bert'"));
  const Error pre = error_of(byte_level("from-the-future").metadata);
  EXPECT_EQ(pre.code, ErrorCode::unsupported);
  EXPECT_THAT(pre.message, AllOf(HasSubstr("'from-the-future'"), HasSubstr("smollm")));
}

TEST(gguf_tokenizer, lists_of_the_wrong_form_are_named) {
  const auto with = [](const char* key, Json value) {
    Json metadata = byte_level("qwen2").metadata;
    metadata[key] = std::move(value);
    const Error error = error_of(metadata);
    EXPECT_EQ(error.code, ErrorCode::corrupt_file) << error.message;
    EXPECT_THAT(error.message, HasSubstr(key));
  };
  with("tokenizer.ggml.tokens", 7);
  with("tokenizer.ggml.tokens", Json::array());
  with("tokenizer.ggml.tokens", {1, 2});
  with("tokenizer.ggml.token_type", {1, 2});
  with("tokenizer.ggml.token_type", Json::array_t(11, "x"));
  with("tokenizer.ggml.scores", {0.5});
  with("tokenizer.ggml.merges", "a b");
  with("tokenizer.ggml.merges", {"ab"});
  with("tokenizer.ggml.merges", {3});
  // Ids beyond the vocabulary leave the token out.
  Json metadata = byte_level("qwen2").metadata;
  metadata["tokenizer.ggml.bos_token_id"] = 4000;
  metadata["tokenizer.ggml.add_bos_token"] = true;
  EXPECT_THAT(encode(metadata, "a", true), ElementsAre(0));
}

}  // namespace
}  // namespace hearth::text
