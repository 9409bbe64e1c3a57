#include "text/gguf_merges.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace hearth::text::gguf {
namespace {

void append_merge(std::string& out, std::string_view left, std::string_view right) {
  if (out.size() > 1) out += ',';
  out += '[';
  append_quoted(out, left);
  out += ',';
  append_quoted(out, right);
  out += ']';
}

/// A way to make a piece of two shorter ones.
struct Merge {
  std::string_view left, right;
  int left_id, right_id;
  int left_size, right_size;  // in characters
  double score;
};

}  // namespace

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

}  // namespace hearth::text::gguf
