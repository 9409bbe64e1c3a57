#include "services/chat/token_bytes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace hearth::services {
namespace {

/// Length of the UTF-8 character that starts at `at`; 0 when it is broken.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const std::size_t n = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (n == 0 || lead > 0xf4 || at + n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  if ((lead == 0xe0 && byte(at + 1) < 0xa0) || (lead == 0xed && byte(at + 1) > 0x9f) ||
      (lead == 0xf0 && byte(at + 1) < 0x90) || (lead == 0xf4 && byte(at + 1) > 0x8f)) {
    return 0;
  }
  return n;
}

/// GPT-2's alphabet backwards: the printable bytes stand for themselves, the others, in order, for
/// U+0100 and on. Index: code point; -1: not a letter of it.
std::array<std::int16_t, 324> byte_alphabet() {
  std::array<std::int16_t, 324> bytes;
  bytes.fill(-1);
  int next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    bytes[printable ? b : next++] = std::int16_t(b);
  }
  return bytes;
}

/// The bytes of a byte-level piece; none when it is not spelled in that alphabet (an added token).
std::optional<std::string> byte_level(std::string_view piece) {
  static const auto alphabet = byte_alphabet();
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t n = character_length(piece, at);
    if (n == 0 || n > 2) return std::nullopt;
    const unsigned code = n == 1 ? static_cast<unsigned char>(piece[at])
                                 : (piece[at] & 0x1fu) << 6 | (piece[at + 1] & 0x3fu);
    if (code >= alphabet.size() || alphabet[code] < 0) return std::nullopt;
    bytes += char(alphabet[code]);
    at += n;
  }
  return bytes;
}

std::string sentencepiece(std::string_view piece) {
  if (piece.size() == 6 && piece.starts_with("<0x") && piece.back() == '>') {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
    if (error == std::errc() && end == piece.data() + 5) return {char(byte)};
  }
  constexpr std::string_view space = "\u2581";
  std::string bytes(piece);
  for (auto at = bytes.find(space); at != std::string::npos; at = bytes.find(space, at + 1)) {
    bytes.replace(at, space.size(), " ");
  }
  return bytes;
}

}  // namespace

std::string token_bytes(const text::Tokenizer& tokenizer, text::TokenId id) {
  std::string piece = tokenizer.piece(id);
  if (tokenizer.is_marker(id)) return piece;
  if (tokenizer.spelling() == text::Spelling::byte_level) {
    return byte_level(piece).value_or(piece);
  }
  return sentencepiece(piece);
}

std::string token_text(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text = "bytes:";
  for (const unsigned char byte : bytes) text += fmt::format("\\x{:02x}", byte);
  return text;
}

bool is_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t n = character_length(bytes, at);
    if (n == 0) return false;
    at += n;
  }
  return true;
}

}  // namespace hearth::services
