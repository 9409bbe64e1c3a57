#include "text/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hearth::text {
namespace {

// ---------------------------------------------------------------- how gpt2 vocabularies split text

enum class StepKind {
  split,        // by a regular expression
  digits,       // every digit apart
  numbers,      // runs of digits apart
  punctuation,  // runs of punctuation apart
  gpt2,         // GPT-2's own regular expression
};

struct Step {
  StepKind kind;
  std::string_view regex = {};
};

struct Splitter {
  std::span<const std::string_view> names;  // values of tokenizer.ggml.pre
  std::span<const Step> steps;
  bool nfc = false;
  bool ignore_merges = false;  // a word that is a token is taken whole
  bool adds_bos = false;       // where the file does not say
};

// From the tokenizer.json of the models themselves.
constexpr std::string_view llama3_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen2_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen35_regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view tekken_regex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view gpt4o_regex =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view deepseek3_regex = R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
                                             "\r\n"
                                             R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
                                             "\r\n"
                                             R"(]*|\s*[)"
                                             "\r\n"
                                             R"(]+|\s+(?!\S)|\s+)";
constexpr std::string_view deepseek_cased_letters =  // letters of scripts that have two cases
    "\\s?["
    "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293"
    "\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C"
    "\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5"
    "\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77"
    "\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59"
    "\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC"
    "\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107"
    "\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139"
    "\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE"
    "\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E"
    "\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F"
    "\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2\U00010CC0-\U00010CF2"
    "\U000118A0-\U000118DF\U0001E900-\U0001E943"
    "]+";

constexpr Step gpt2_steps[] = {{StepKind::gpt2}};
constexpr Step digit_steps[] = {{StepKind::digits}, {StepKind::gpt2}};
constexpr Step llama3_steps[] = {{StepKind::split, llama3_regex}};
constexpr Step qwen2_steps[] = {{StepKind::split, qwen2_regex}};
constexpr Step qwen35_steps[] = {{StepKind::split, qwen35_regex}};
constexpr Step tekken_steps[] = {{StepKind::split, tekken_regex}};
constexpr Step gpt4o_steps[] = {{StepKind::split, gpt4o_regex}};
constexpr Step deepseek3_steps[] = {{StepKind::split, R"(\p{N}{1,3})"},
                                    {StepKind::split, "[一-龥\u3040-ゟ゠-ヿ]+"},
                                    {StepKind::split, deepseek3_regex}};
constexpr Step deepseek_llm_steps[] = {{StepKind::split, "[\r\n]"},
                                       {StepKind::split, deepseek_cased_letters},
                                       {StepKind::split, R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)"},
                                       {StepKind::split, R"(\s+$)"},
                                       {StepKind::split, "[一-龥ࠀ-一가-\uD7FF]+"},
                                       {StepKind::digits}};
constexpr Step deepseek_coder_steps[] = {{StepKind::split, "[\r\n]"},
                                         {StepKind::split, R"(\s?\p{L}+)"},
                                         {StepKind::split, R"(\s?\p{P}+)"},
                                         {StepKind::split, "[一-龥ࠀ-一가-\uD7FF]+"},
                                         {StepKind::digits}};
constexpr Step falcon_steps[] = {{StepKind::punctuation},
                                 {StepKind::gpt2},
                                 {StepKind::numbers},
                                 {StepKind::split, "[0-9][0-9][0-9]"}};

constexpr std::string_view gpt2_names[] = {"default", "gpt-2", "gpt2",
                                           "phi-2",   "jais",  "roberta-bpe"};
constexpr std::string_view neox_names[] = {"mpt", "olmo"};
constexpr std::string_view digit_names[] = {"smollm",    "starcoder", "refact",
                                            "codeshell", "exaone",    "minerva-7b"};
constexpr std::string_view command_names[] = {"command-r"};
constexpr std::string_view llama3_names[] = {"llama-bpe", "llama3", "llama-v3"};
constexpr std::string_view smaug_names[] = {"smaug-bpe", "dbrx", "chatglm-bpe", "glm4"};
constexpr std::string_view qwen2_names[] = {"qwen2", "deepseek-r1-qwen", "megrez", "hunyuan"};
constexpr std::string_view qwen35_names[] = {"qwen35"};
constexpr std::string_view stablelm_names[] = {"stablelm2"};
constexpr std::string_view tekken_names[] = {"tekken", "pixtral"};
constexpr std::string_view gpt4o_names[] = {"gpt-4o", "llama4"};
constexpr std::string_view deepseek3_names[] = {"deepseek-v3", "deepseek-r1"};
constexpr std::string_view deepseek_llm_names[] = {"deepseek-llm"};
constexpr std::string_view deepseek_coder_names[] = {"deepseek-coder"};
constexpr std::string_view falcon_names[] = {"falcon"};

constexpr Splitter splitters[] = {
    {.names = gpt2_names, .steps = gpt2_steps},
    {.names = neox_names, .steps = gpt2_steps, .nfc = true},
    {.names = digit_names, .steps = digit_steps},
    {.names = command_names, .steps = digit_steps, .nfc = true},
    {.names = llama3_names, .steps = llama3_steps, .ignore_merges = true, .adds_bos = true},
    {.names = smaug_names, .steps = llama3_steps},
    {.names = qwen2_names, .steps = qwen2_steps, .nfc = true},
    {.names = qwen35_names, .steps = qwen35_steps, .nfc = true},
    {.names = stablelm_names, .steps = qwen2_steps},
    {.names = tekken_names, .steps = tekken_steps, .ignore_merges = true, .adds_bos = true},
    {.names = gpt4o_names, .steps = gpt4o_steps, .ignore_merges = true},
    {.names = deepseek3_names, .steps = deepseek3_steps, .adds_bos = true},
    {.names = deepseek_llm_names, .steps = deepseek_llm_steps, .adds_bos = true},
    {.names = deepseek_coder_names, .steps = deepseek_coder_steps, .adds_bos = true},
    {.names = falcon_names, .steps = falcon_steps},
};

Result<const Splitter*> find_splitter(const std::string& pre) {
  std::string known;
  for (const Splitter& splitter : splitters) {
    for (const auto name : splitter.names) {
      if (name == pre) return &splitter;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
  }
  return fail(
      ErrorCode::unsupported,
      fmt::format("tokenizer.ggml.pre is '{}', which is not read here; known: {}", pre, known));
}

// ------------------------------------------------------------------------------- the vocabulary

enum class TokenType {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct Token {
  std::string text;
  TokenType type = TokenType::normal;
  double score = 0;
};

/// Reads typed values of the metadata; errors name the key.
class Metadata {
 public:
  explicit Metadata(const Json& json) : json_(json) {}

  const Json* find(const std::string& key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  std::string text(const std::string& key) const {
    const Json* value = find(key);
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }
  bool flag(const std::string& key, bool otherwise) const {
    const Json* value = find(key);
    return value && value->is_boolean() ? value->get<bool>() : otherwise;
  }
  /// The text of the token whose id the key holds; empty without one.
  std::string token(const std::string& key, std::span<const Token> tokens) const {
    const Json* value = find(key);
    if (!value || !value->is_number_integer()) return {};
    const auto id = value->get<std::int64_t>();
    const bool known = id >= 0 && id < std::ssize(tokens);
    return known ? tokens[static_cast<std::size_t>(id)].text : std::string();
  }

 private:
  const Json& json_;
};

Result<std::vector<Token>> read_tokens(const Metadata& metadata) {
  const auto corrupt = [](std::string what) {
    return fail(ErrorCode::corrupt_file, std::move(what));
  };
  const Json* texts = metadata.find("tokenizer.ggml.tokens");
  if (!texts || !texts->is_array() || texts->empty()) {
    return corrupt("tokenizer.ggml.tokens is no list of tokens");
  }
  std::vector<Token> tokens(texts->size());
  const auto each = [&](const char* key, const auto& read) -> Result<void> {
    const Json* values = metadata.find(key);
    if (!values) return {};
    if (!values->is_array() || values->size() != tokens.size()) {
      return corrupt(
          fmt::format("{} has {} values, expected {}", key, values->size(), tokens.size()));
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!read((*values)[i], tokens[i]))
        return corrupt(fmt::format("{}[{}] has a wrong type", key, i));
    }
    return {};
  };
  auto done = each("tokenizer.ggml.tokens", [](const Json& value, Token& token) {
    if (!value.is_string()) return false;
    token.text = value.get_ref<const std::string&>();
    return true;
  });
  if (done) {
    done = each("tokenizer.ggml.token_type", [](const Json& value, Token& token) {
      if (!value.is_number_integer()) return false;
      token.type = static_cast<TokenType>(value.get<int>());
      return true;
    });
  }
  if (done) {
    done = each("tokenizer.ggml.scores", [](const Json& value, Token& token) {
      if (!value.is_number()) return false;
      token.score = value.get<double>();
      return true;
    });
  }
  if (!done) return fail(done.error());
  return tokens;
}

/// Text that a model writes for programs to read, so never left out of what users see, though older
/// files call these tokens control.
bool is_visible_marker(std::string_view text) {
  for (const auto* word : {"tool_call", "tool_response", "think"}) {
    if (text == fmt::format("<{}>", word) || text == fmt::format("</{}>", word)) return true;
  }
  return false;
}

// ------------------------------------------------------------------------------- JSON, by hand
// A vocabulary has hundreds of thousands of keys; ordered_json searches them all for each new one.

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  out += '"';
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

void append_merge(std::string& out, std::string_view left, std::string_view right) {
  if (out.size() > 1) out += ',';
  out += '[';
  append_quoted(out, left);
  out += ',';
  append_quoted(out, right);
  out += ']';
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

// ---------------------------------------------------------------------- begin and end of text

struct Ends {
  std::string bos, eos;  // empty: not added
};

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

// ------------------------------------------------------------------------------- the two models

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

Result<std::string> stored_merges(const Metadata& metadata) {
  const Json* merges = metadata.find("tokenizer.ggml.merges");
  if (!merges || !merges->is_array()) {
    return fail(ErrorCode::corrupt_file, "tokenizer.ggml.merges is no list");
  }
  std::string out = "[";
  for (const Json& merge : *merges) {
    const std::string_view text =
        merge.is_string() ? std::string_view(merge.get_ref<const std::string&>()) : "";
    const auto space = text.find(' ', 1);  // the left part may itself be a space
    if (space == text.npos || space + 1 == text.size()) {
      return fail(
          ErrorCode::corrupt_file,
          fmt::format("tokenizer.ggml.merges holds '{}', expected two parts and a space", text));
    }
    append_merge(out, text.substr(0, space), text.substr(space + 1));
  }
  return out + ']';
}

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

constexpr std::string_view space_mark = "▁";

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

/// A way to make a piece of two shorter ones.
struct Merge {
  std::string_view left, right;
  int left_id, right_id;
  int left_size, right_size;  // in characters
  double score;
};

/// Every pair of pieces that makes a piece. The higher score merges first; among equals the longer
/// left part, then the longer right one, then the older piece: as the converter of
/// sentencepiece models in transformers orders them (generate_merges).
std::string derived_merges(std::span<const Token> tokens) {
  const auto mergeable = [](const Token& token) {
    return token.type == TokenType::normal || token.type == TokenType::user_defined ||
           token.type == TokenType::unused;
  };
  std::unordered_map<std::string_view, int> ids;
  ids.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (mergeable(tokens[i])) ids.emplace(tokens[i].text, static_cast<int>(i));
  }
  std::vector<Merge> merges;
  for (const Token& token : tokens) {
    if (!mergeable(token)) continue;
    // GGUF gives user-defined pieces a score of -1000, sentencepiece 0: they come first.
    const double score = token.type == TokenType::user_defined ? 0 : token.score;
    const std::string_view text = token.text;
    const auto starts = [](char c) { return (c & 0xc0) != 0x80; };  // a UTF-8 character
    const int size = static_cast<int>(std::ranges::count_if(text, starts));
    const auto first = merges.size();
    int left_size = 0;
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (!starts(text[at])) continue;
      ++left_size;
      const auto left = ids.find(text.substr(0, at));
      if (left == ids.end()) continue;
      const auto right = ids.find(text.substr(at));
      if (right == ids.end()) continue;
      merges.push_back({left->first, right->first, left->second, right->second, left_size,
                        size - left_size, score});
    }
    std::sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
              [](const Merge& a, const Merge& b) {
                return std::pair(a.left_id, a.right_id) < std::pair(b.left_id, b.right_id);
              });
  }
  std::ranges::stable_sort(merges, [](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    return std::pair(a.left_size, a.right_size) > std::pair(b.left_size, b.right_size);
  });
  std::string out = "[";
  for (const Merge& merge : merges) append_merge(out, merge.left, merge.right);
  return out + ']';
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

// --------------------------------------------------------------------- tokenizer_config.json

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
  auto tokens = read_tokens(metadata);
  if (!tokens) return fail(tokens.error());

  const Splitter* splitter = nullptr;
  if (kind == "gpt2") {
    const auto pre = metadata.text("tokenizer.ggml.pre");
    const auto found = find_splitter(pre.empty() ? "default" : pre);
    if (!found) return fail(found.error());
    splitter = *found;
  } else {
    for (Token& token : *tokens) token.text = with_space_marks(token.text);
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
    auto text = byte_level_bpe(metadata, *tokens, *splitter, ends);
    if (!text) return fail(text.error());
    out.tokenizer_json = std::move(*text);
  } else {
    out.tokenizer_json = sentencepiece_bpe(metadata, *tokens, ends);
  }
  out.tokenizer_config = config_json(metadata, *tokens, adds_bos, adds_eos);
  out.chat_template = metadata.text("tokenizer.chat_template");
  add_named_templates(json, out.chat_template, out.tokenizer_config);
  return out;
}

}  // namespace hearth::text
