#include "text/gguf_vocabulary.h"

#include <fmt/format.h>

namespace hearth::text::gguf {

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

}  // namespace hearth::text::gguf
