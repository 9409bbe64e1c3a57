#include "services/chat/base64.h"

#include <cstdint>

namespace hearth::services {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < n ? std::uint8_t(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= n ? alphabet[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  int bits = 0, padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      if (++padding > 2) return std::nullopt;
      continue;
    }
    const auto value = alphabet.find(c);
    if (value == alphabet.npos || padding) return std::nullopt;
    group = (group << 6 | std::uint32_t(value)) & 0xffffff;
    if ((bits += 6) >= 8) out += char(group >> (bits -= 8) & 0xff);
  }
  if (bits == 6) return std::nullopt;  // a lone digit
  return out;
}

}  // namespace hearth::services
