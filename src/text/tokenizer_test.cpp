#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "text/detokenizer.h"

namespace hearth::text {
namespace {

using ::testing::ElementsAre;

/// GPT-2's letter of a byte.
std::string letter(int byte) {
  const auto shown = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  int code = byte;
  if (!shown(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += !shown(b);
  }
  if (code < 128) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 63))};
}

/// A byte-level tokenizer, one id per byte, with the markers <s> 256 and </s> 257.
Json byte_level() {
  Json vocab = Json::object();
  for (int b = 0; b < 256; ++b) vocab[letter(b)] = b;
  const auto added = [](int id, const char* text) {
    return Json{{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
  };
  const Json bytes{{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", false},
                   {"use_regex", false}};
  return {{"version", "1.0"},
          {"added_tokens", {added(256, "<s>"), added(257, "</s>")}},
          {"normalizer", nullptr},
          {"pre_tokenizer", bytes},
          {"post_processor", nullptr},
          {"decoder", bytes},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
}

std::shared_ptr<const Tokenizer> made(const Json& spec, const Json& config = Json::object()) {
  return Tokenizer::from_json(spec.dump(), config).value();
}

std::string streamed(std::shared_ptr<const Tokenizer> tokenizer, const std::vector<TokenId>& ids) {
  Detokenizer stream(tokenizer);
  std::string text;
  for (const TokenId id : ids) text += stream.push(id);
  return text + stream.finish();
}

TEST(Tokenizer, a_byte_level_vocabulary_decodes_as_bytes_whatever_its_decoder_says) {
  Json spec = byte_level();
  spec["decoder"] = Json::parse(R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
  const auto tokenizer = made(spec);
  const std::string text = "Dear team,\n\n  two spaces here.";
  const auto ids = tokenizer->encode(text, {}).value();
  EXPECT_EQ(tokenizer->spelling(), Spelling::byte_level);
  EXPECT_EQ(tokenizer->decode(ids, true), text);
  EXPECT_EQ(streamed(tokenizer, ids), text);
}

TEST(Tokenizer, the_longest_token_bounds_what_a_text_may_come_to) {
  Json spec = byte_level();
  spec["model"]["vocab"]["aaaa"] = 258;
  const std::string ascii(1000, 'b'), letters = "üüüüü";
  EXPECT_EQ(made(spec)->least_tokens(ascii), 250u);  // "</s>" and "aaaa" have four bytes
  EXPECT_EQ(made(spec)->least_tokens("b"), 1u);
  EXPECT_EQ(made(spec)->least_tokens(""), 0u);
  EXPECT_EQ(made(spec)->least_tokens(letters), 3u);
  spec["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(made(spec)->least_tokens(ascii), 250u);
  EXPECT_EQ(made(spec)->least_tokens(letters), 1u);
}

TEST(Tokenizer, what_may_vanish_bounds_nothing) {
  const std::string text(1000, 'z');
  const auto least = [&](const char* part, const Json& value) {
    Json other = byte_level();
    other[part] = value;
    return made(other)->least_tokens(text);
  };
  EXPECT_EQ(least("normalizer", nullptr), 250u);
  EXPECT_EQ(least("normalizer", {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}),
            0u);
  EXPECT_EQ(
      least("normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", " +"}}}, {"content", " "}}),
      0u);
  EXPECT_EQ(least("pre_tokenizer", {{"type", "WhitespaceSplit"}}), 0u);
  Json strips = byte_level();
  strips["added_tokens"][0]["lstrip"] = true;
  EXPECT_EQ(made(strips)->least_tokens(text), 0u);
  Json lacks = byte_level();
  lacks["model"]["vocab"].erase(letter('z'));
  EXPECT_EQ(made(lacks)->least_tokens(text + "yyyyy"), 2u);
}

TEST(Tokenizer, markers_are_control_tokens_or_text_as_asked) {
  const auto tokenizer = made(byte_level());
  EXPECT_THAT(tokenizer->encode("a<s>", {}).value(), ElementsAre('a', 256));
  EXPECT_THAT(tokenizer->encode("a<s>", {.parse_markers = false}).value(),
              ElementsAre('a', '<', 's', '>'));
}

TEST(Tokenizer, a_marker_that_the_vocabulary_spells_too_is_cut) {
  Json spec = byte_level();
  spec["model"]["vocab"]["<s"] = 258;
  spec["model"]["vocab"]["<s>"] = 256;
  spec["model"]["merges"] = Json::parse(R"([["<", "s"], ["<s", ">"]])");
  const auto ids = made(spec)->encode("x<s><s>", {.parse_markers = false}).value();
  EXPECT_THAT(ids, ElementsAre('x', '<', 's', '>', '<', 's', '>'));
}

TEST(Tokenizer, bos_is_added_where_the_config_asks_and_there_is_no_post_processor) {
  const auto tokenizer =
      made(byte_level(), {{"bos_token", {{"content", "<s>"}}}, {"add_bos_token", true}});
  EXPECT_THAT(tokenizer->encode("hi", {.add_special = true}).value(), ElementsAre(256, 'h', 'i'));
  EXPECT_THAT(tokenizer->encode("hi", {}).value(), ElementsAre('h', 'i'));
}

TEST(Tokenizer, broken_input_is_refused_in_words) {
  const auto text = made(byte_level())->encode("a\xFF", {});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::invalid_request);
  for (const char* json : {"", "{", "[]", "{\"model\": 1}", "\xFF"}) {
    const auto broken = Tokenizer::from_json(json, Json::object());
    ASSERT_FALSE(broken) << json;
    EXPECT_EQ(broken.error().code, ErrorCode::corrupt_file);
  }
}

TEST(Tokenizer, stop_ids_are_the_union_of_every_source) {
  EXPECT_THAT(eos_ids({{"eos_token_id", 11}, {"text_config", {{"eos_token_id", 14}}}},
                      {{"eos_token_id", {11, 12}}}),
              ElementsAre(11, 12, 14));
  EXPECT_THAT(eos_ids(Json(), {{"eos_token_id", nullptr}}), ElementsAre());
}

TEST(Detokenizer, holds_a_character_until_it_is_whole) {
  Detokenizer stream(made(byte_level()));
  EXPECT_EQ(stream.push(0xE6), "");
  EXPECT_EQ(stream.push(0x9D), "");
  EXPECT_EQ(stream.push(0xB1), "東");
  EXPECT_EQ(stream.push(0xE6), "");
  EXPECT_EQ(stream.push(256), "");  // special: skipped
  EXPECT_EQ(stream.finish(), "\uFFFD");
}

TEST(Detokenizer, unknown_ids_are_skipped) {
  const auto tokenizer = made(byte_level());
  EXPECT_EQ(streamed(tokenizer, {'a', 99999, -1, 'b'}), "ab");
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{'a', 99999, -1, 'b'}, true), "ab");
}

}  // namespace
}  // namespace hearth::text
