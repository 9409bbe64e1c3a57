// The tokens of a GGUF file's metadata, and the keys that speak of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace hearth::text::gguf {

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

/// Errors: corrupt_file for lists of the wrong type or length.
Result<std::vector<Token>> read_tokens(const Metadata& metadata);

}  // namespace hearth::text::gguf
