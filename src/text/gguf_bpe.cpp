#include "text/gguf_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/json.h"
#include "text/gguf_merges.h"

namespace hearth::text::gguf {
namespace {

constexpr std::string_view space_mark = "▁";

/// Text that a model writes for programs to read, so never left out of what users see, though older
/// files call these tokens control.
bool is_visible_marker(std::string_view text) {
  for (const auto* word : {"tool_call", "tool_response", "think"}) {
    if (text == fmt::format("<{}>", word) || text == fmt::format("</{}>", word)) return true;
  }
  return false;
}

std::string vocab_json(std::span<const Token> tokens) {
  std::string out = "{";
  std::unordered_map<std::string_view, int> seen;
  seen.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!seen.emplace(tokens[i].text, 0).second) continue;  // the first of a kind keeps the name
    if (out.size() > 1) out += ',';
    append_quoted(out, tokens[i].text);
    out += fmt::format(":{}", i);
  }
  return out + '}';
}

std::string added_tokens_json(std::span<const Token> tokens) {
  std::string out = "[";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool control = token.type == TokenType::control || token.type == TokenType::unknown;
    if ((!control && token.type != TokenType::user_defined) || token.text.empty()) continue;
    if (out.size() > 1) out += ',';
    out += fmt::format(R"({{"id":{},"content":)", i);
    append_quoted(out, token.text);
    out += fmt::format(
        R"(,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":{}}})",
        control && !is_visible_marker(token.text));
  }
  return out + ']';
}

/// tokenizer.json of its parts; `model` without "vocab" and "merges".
std::string assemble(std::span<const Token> tokens, const Json& normalizer,
                     const Json& pre_tokenizer, const Json& post_processor, const Json& decoder,
                     const Json& model, const std::string& merges) {
  std::string head = model.dump();
  head.pop_back();  // the closing brace
  return fmt::format(R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},)"
                     R"("normalizer":{},"pre_tokenizer":{},"post_processor":{},"decoder":{},)"
                     R"("model":{},"vocab":{},"merges":{}}}}})",
                     added_tokens_json(tokens), normalizer.dump(), pre_tokenizer.dump(),
                     post_processor.dump(), decoder.dump(), head, vocab_json(tokens), merges);
}

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", use_regex}};
}

Json special(const std::string& token, int sequence) {
  return {{"SpecialToken", {{"id", token}, {"type_id", sequence}}}};
}

/// TemplateProcessing that puts bos before and eos after; null when neither is added.
Json template_processing(const Ends& ends, std::span<const Token> tokens) {
  if (ends.bos.empty() && ends.eos.empty()) return {};
  Json specials = Json::object();
  for (const std::string& token : {ends.bos, ends.eos}) {
    if (token.empty()) continue;
    const auto found = std::ranges::find(tokens, token, &Token::text);
    specials[token] = {{"id", token},
                       {"ids", Json::array({found - tokens.begin()})},
                       {"tokens", Json::array({token})}};
  }
  const auto around = [&](std::initializer_list<const char*> sequences) {
    Json out = Json::array();
    int i = 0;
    for (const char* sequence : sequences) {
      if (!ends.bos.empty()) out.push_back(special(ends.bos, i));
      out.push_back({{"Sequence", {{"id", sequence}, {"type_id", i}}}});
      if (!ends.eos.empty()) out.push_back(special(ends.eos, i));
      ++i;
    }
    return out;
  };
  return {{"type", "TemplateProcessing"},
          {"single", around({"A"})},
          {"pair", around({"A", "B"})},
          {"special_tokens", specials}};
}

Json step_json(const Step& step) {
  switch (step.kind) {
    case StepKind::split:
      return {{"type", "Split"},
              {"pattern", {{"Regex", step.regex}}},
              {"behavior", "Isolated"},
              {"invert", false}};
    case StepKind::digits:
      return {{"type", "Digits"}, {"individual_digits", true}};
    case StepKind::numbers:
      return {{"type", "Digits"}, {"individual_digits", false}};
    case StepKind::punctuation:
      return {{"type", "Punctuation"}, {"behavior", "Contiguous"}};
    case StepKind::gpt2:
      return byte_level(true);
  }
  return {};
}

Json pre_tokenizer_json(const Splitter& splitter) {
  Json steps = Json::array();
  bool bytes = false;
  for (const Step& step : splitter.steps) {
    steps.push_back(step_json(step));
    bytes |= step.kind == StepKind::gpt2;
  }
  if (!bytes) steps.push_back(byte_level(false));
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

}  // namespace

Result<std::string> byte_level_bpe(const Metadata& metadata, std::span<const Token> tokens,
                                   const Splitter& splitter, const Ends& ends) {
  auto merges = stored_merges(metadata);
  if (!merges) return merges;
  Json post = byte_level(false);
  if (Json around = template_processing(ends, tokens); !around.is_null()) {
    post = {{"type", "Sequence"}, {"processors", Json::array({post, around})}};
  }
  const Json model{{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", ""},
                   {"end_of_word_suffix", ""},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", splitter.ignore_merges}};
  return assemble(tokens, splitter.nfc ? Json{{"type", "NFC"}} : Json(),
                  pre_tokenizer_json(splitter), post, byte_level(true), model, *merges);
}

std::string with_space_marks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ') {
      out += space_mark;
    } else {
      out += c;
    }
  }
  return out;
}

std::string sentencepiece_bpe(const Metadata& metadata, std::span<const Token> tokens,
                              const Ends& ends) {
  const bool prefix = metadata.flag("tokenizer.ggml.add_space_prefix", true);
  const Json marks{{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space_mark}};
  Json normalizer = marks;
  if (prefix) {
    normalizer = {
        {"type", "Sequence"},
        {"normalizers", Json::array({Json{{"type", "Prepend"}, {"prepend", space_mark}}, marks})}};
  }
  Json decoders = Json::array(
      {Json{{"type", "Replace"}, {"pattern", {{"String", space_mark}}}, {"content", " "}},
       Json{{"type", "ByteFallback"}}, Json{{"type", "Fuse"}}});
  if (prefix) {
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  const auto unknown = std::ranges::find(tokens, TokenType::unknown, &Token::type);
  std::string unk = metadata.token("tokenizer.ggml.unknown_token_id", tokens);
  if (unk.empty() && unknown != tokens.end()) unk = unknown->text;
  const Json model{{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", unk.empty() ? Json() : Json(unk)},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", true},
                   {"byte_fallback", true},
                   {"ignore_merges", false}};
  return assemble(tokens, normalizer, Json(), template_processing(ends, tokens),
                  Json{{"type", "Sequence"}, {"decoders", decoders}}, model,
                  derived_merges(tokens));
}

}  // namespace hearth::text::gguf
