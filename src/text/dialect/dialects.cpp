#include "text/dialect/dialects.h"

#include <algorithm>

namespace hearth::text {

// Those with texts of their own first; whose marks others share, later.
const std::vector<const Dialect*>& all_dialects() {
  static const std::vector<const Dialect*> all = {
      &harmony, &gemma,    &function_gemma, &deepseek_dsml, &deepseek, &deepseek_v31, &kimi,
      &minimax, &glm,      &minicpm,        &mistral_named, &mistral,  &lfm,          &command_r,
      &granite, &qwen_xml, &llama_pythonic, &llama3,        &hermes,
  };
  return all;
}

const Dialect& find_dialect(std::string_view chat_template, std::string_view family) {
  const auto shown = [&](const std::vector<std::string_view>& texts) {
    return std::ranges::all_of(
        texts, [&](auto text) { return chat_template.find(text) != chat_template.npos; });
  };
  for (const Dialect* dialect : all_dialects()) {
    if (std::ranges::any_of(dialect->signs, shown)) return *dialect;
  }
  for (const Dialect* dialect : all_dialects()) {
    if (dialect->name == family) return *dialect;
  }
  return hermes;
}

}  // namespace hearth::text
