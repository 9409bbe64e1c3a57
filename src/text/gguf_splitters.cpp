#include "text/gguf_splitters.h"

#include <fmt/format.h>

namespace hearth::text::gguf {
namespace {

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

}  // namespace

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

}  // namespace hearth::text::gguf
