#include "text/token_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace hearth::text {
namespace {

// Composing a letter and its marks saves two thirds of their bytes at most (Hangul syllables).
constexpr std::size_t composing = 3;

/// How much shorter a normaliser can make a text: to one part in so many; 0: to nothing.
std::size_t shrinks(const Json& part) {
  if (part.is_null()) return 1;
  const auto type = type_of(part);
  if (type == "NFC") return composing;
  if (type == "Prepend" || type == "ByteLevel" || type == "NFD") return 1;
  if (type == "Replace") {
    const Json pattern = part.value("pattern", Json::object()).value("String", Json());
    const Json content = part.value("content", Json());
    const bool grows = pattern.is_string() && content.is_string() &&
                       content.get_ref<const std::string&>().size() >=
                           pattern.get_ref<const std::string&>().size();
    return grows ? 1 : 0;
  }
  if (type != "Sequence") return 0;
  std::size_t all = 1;
  for (const Json& inner : part.value("normalizers", Json::array())) all *= shrinks(inner);
  return all;
}

/// Whether what cuts the text into words leaves all of it there.
bool keeps_all(const Json& part) {
  if (part.is_null()) return true;
  const auto type = type_of(part);
  if (type == "Sequence")
    return std::ranges::all_of(part.value("pretokenizers", Json()), keeps_all);
  if (type == "Split") return part.value("behavior", "Removed") != "Removed";
  return type == "ByteLevel" || type == "Digits" || type == "Metaspace";
}

/// How a vocabulary spells a byte that it has no longer piece for.
std::string letter_of(int byte, Spelling spelling) {
  if (spelling == Spelling::byte_fallback) return fmt::format("<0x{:02X}>", byte);
  const auto is_printed = [](int b) { return (b > ' ' && b < 0x7F) || (b > 0xA0 && b != 0xAD); };
  int code = byte;  // GPT-2's alphabet: bytes that cannot be printed have a letter from 256 on
  if (!is_printed(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += !is_printed(b);
  }
  if (code < 0x80) return std::string(1, char(code));
  return {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
}

/// Most bytes of text that a piece stands for: in GPT-2's alphabet a letter is a byte.
std::size_t length_of(std::string_view piece, Spelling spelling) {
  if (spelling != Spelling::byte_level) return piece.size();
  const auto is_inside = [](char c) { return (c & 0xC0) == 0x80; };
  const bool letters = std::ranges::all_of(piece, [](char c) { return std::uint8_t(c) < 0xC6; });
  return letters ? piece.size() - std::size_t(std::ranges::count_if(piece, is_inside))
                 : piece.size();
}

}  // namespace

TokenBound::TokenBound(const Json& parts, Spelling spelling, std::size_t count,
                       const std::function<std::string_view(std::size_t id)>& piece) {
  if (spelling == Spelling::plain || parts.value("strips", true)) return;
  if (!keeps_all(parts.value("pre_tokenizer", Json()))) return;
  shrinks_ = shrinks(parts.value("normalizer", Json()));
  if (shrinks_ == 0) return;
  std::map<std::string, int, std::less<>> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes[letter_of(byte, spelling)] = byte;
  for (std::size_t id = 0; id < count; ++id) {
    longest_ = std::max(longest_, length_of(piece(id), spelling));
    if (const auto letter = bytes.find(piece(id)); letter != bytes.end()) {
      spelled_[std::size_t(letter->second)] = true;
    }
  }
}

std::size_t TokenBound::least(std::string_view text) const {
  if (longest_ == 0) return 0;
  std::size_t bytes = 0;
  bool ascii = true;
  for (const char c : text) {
    bytes += spelled_[std::uint8_t(c)];
    ascii = ascii && std::uint8_t(c) < 0x80;
  }
  const auto most = ascii ? longest_ : longest_ * shrinks_;
  return (bytes + most - 1) / most;
}

}  // namespace hearth::text
