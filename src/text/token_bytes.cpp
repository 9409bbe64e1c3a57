#include "text/token_bytes.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "text/utf8.h"

namespace hearth::text {
namespace {

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
    const auto [kind, n] = first_character(piece.substr(at));
    if (kind != FirstCharacter::Kind::whole || n > 2) return std::nullopt;
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
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const bool blank = piece.substr(at).starts_with(space);
    bytes += blank ? ' ' : piece[at];
    at += blank ? space.size() : 1;
  }
  return bytes;
}

}  // namespace

std::string token_bytes(const Tokenizer& tokenizer, TokenId id) {
  std::string piece = tokenizer.piece(id);
  if (tokenizer.is_marker(id)) return piece;
  if (tokenizer.spelling() == Spelling::byte_level) return byte_level(piece).value_or(piece);
  return sentencepiece(piece);
}

}  // namespace hearth::text
