#include "text/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "text/gguf_bpe.h"

namespace hearth::text {
namespace {

using gguf::Ends;
using gguf::Metadata;
using gguf::Splitter;
using gguf::Token;
using gguf::TokenType;

/// Ids that end a turn: those of the metadata, and control tokens that are spelled so, because
/// older files name the end of the text alone.
Json end_ids(const Metadata& metadata, std::span<const Token> tokens) {
  constexpr std::string_view spellings[] = {"<|im_end|>",     "<|eot_id|>",    "<|eom_id|>",
                                            "<|end|>",        "<end_of_turn>", "<|endoftext|>",
                                            "<|end_of_text|>"};
  std::set<std::int64_t> ids;
  for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    const Json* id = metadata.find(fmt::format("tokenizer.ggml.{}", key));
    if (id && id->is_number_integer()) ids.insert(id->get<std::int64_t>());
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].type != TokenType::control) continue;
    if (std::ranges::find(spellings, tokens[i].text) != std::end(spellings)) {
      ids.insert(static_cast<std::int64_t>(i));
    }
  }
  return ids;
}

Json config_json(const Metadata& metadata, std::span<const Token> tokens, bool adds_bos,
                 bool adds_eos) {
  Json out{{"tokenizer_class", "PreTrainedTokenizerFast"},
           {"add_prefix_space", false},
           {"add_bos_token", adds_bos},
           {"add_eos_token", adds_eos},
           {"clean_up_tokenization_spaces", false},
           {"eos_token_id", end_ids(metadata, tokens)}};
  const std::pair<const char*, const char*> names[] = {
      {"bos_token", "bos_token_id"},
      {"eos_token", "eos_token_id"},
      {"unk_token", "unknown_token_id"},
      {"pad_token", "padding_token_id"},
  };
  for (const auto& [name, key] : names) {
    const auto text = metadata.token(fmt::format("tokenizer.ggml.{}", key), tokens);
    out[name] = text.empty() ? Json() : Json(text);
  }
  return out;
}

/// Named templates, where there are some besides the default: "tokenizer.chat_template.tool_use".
void add_named_templates(const Json& metadata, const std::string& usual, Json& config) {
  constexpr std::string_view prefix = "tokenizer.chat_template.";
  Json named = Json::array();
  if (!usual.empty()) named.push_back({{"name", "default"}, {"template", usual}});
  const auto before = named.size();
  for (const auto& [key, value] : metadata.items()) {
    if (!key.starts_with(prefix) || !value.is_string()) continue;
    named.push_back({{"name", key.substr(prefix.size())}, {"template", value}});
  }
  if (named.size() > before) config["chat_template"] = std::move(named);
}

}  // namespace

Result<GgufTokenizer> gguf_tokenizer(const Json& json) {
  const Metadata metadata(json);
  const std::string kind = metadata.text("tokenizer.ggml.model");
  if (kind.empty()) {
    return fail(ErrorCode::not_found, "the GGUF file has no tokenizer (no tokenizer.ggml.model)");
  }
  if (kind != "gpt2" && kind != "llama") {
    return fail(
        ErrorCode::unsupported,
        fmt::format("a '{}' tokenizer in GGUF is not read here, only gpt2 and llama ones", kind));
  }
  auto tokens = gguf::read_tokens(metadata);
  if (!tokens) return fail(tokens.error());

  const Splitter* splitter = nullptr;
  if (kind == "gpt2") {
    const auto pre = metadata.text("tokenizer.ggml.pre");
    const auto found = gguf::find_splitter(pre.empty() ? "default" : pre);
    if (!found) return fail(found.error());
    splitter = *found;
  } else {
    for (Token& token : *tokens) token.text = gguf::with_space_marks(token.text);
  }
  const bool adds_bos =
      metadata.flag("tokenizer.ggml.add_bos_token", splitter ? splitter->adds_bos : true);
  const bool adds_eos = metadata.flag("tokenizer.ggml.add_eos_token", false);
  const Ends ends{
      .bos = adds_bos ? metadata.token("tokenizer.ggml.bos_token_id", *tokens) : "",
      .eos = adds_eos ? metadata.token("tokenizer.ggml.eos_token_id", *tokens) : "",
  };

  GgufTokenizer out;
  if (splitter) {
    auto text = gguf::byte_level_bpe(metadata, *tokens, *splitter, ends);
    if (!text) return fail(text.error());
    out.tokenizer_json = std::move(*text);
  } else {
    out.tokenizer_json = gguf::sentencepiece_bpe(metadata, *tokens, ends);
  }
  out.tokenizer_config = config_json(metadata, *tokens, adds_bos, adds_eos);
  out.chat_template = metadata.text("tokenizer.chat_template");
  add_named_templates(json, out.chat_template, out.tokenizer_config);
  return out;
}

}  // namespace hearth::text
