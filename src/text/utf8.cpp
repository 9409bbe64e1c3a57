#include "text/utf8.h"

namespace hearth::text {
namespace {

using Byte = unsigned char;

struct Lead {
  std::size_t size;  // 0: no lead byte
  Byte low, high;    // bounds of the second byte
};

Lead lead_of(Byte b) {
  if (b < 0x80) return {1, 0, 0};
  if (b >= 0xC2 && b <= 0xDF) return {2, 0x80, 0xBF};
  if (b == 0xE0) return {3, 0xA0, 0xBF};
  if (b == 0xED) return {3, 0x80, 0x9F};
  if (b >= 0xE1 && b <= 0xEF) return {3, 0x80, 0xBF};
  if (b == 0xF0) return {4, 0x90, 0xBF};
  if (b >= 0xF1 && b <= 0xF3) return {4, 0x80, 0xBF};
  if (b == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

FirstCharacter first_character(std::string_view bytes) {
  using Kind = FirstCharacter::Kind;
  const Lead lead = lead_of(static_cast<Byte>(bytes[0]));
  if (lead.size == 0) return {Kind::broken, 1};
  for (std::size_t i = 1; i < lead.size; ++i) {
    if (i == bytes.size()) return {Kind::cut, i};
    const auto b = static_cast<Byte>(bytes[i]);
    const bool fits = i == 1 ? b >= lead.low && b <= lead.high : b >= 0x80 && b <= 0xBF;
    if (!fits) return {Kind::broken, i};
  }
  return {Kind::whole, lead.size};
}

void drain_utf8(std::string& held, std::string& out) {
  std::size_t at = 0;
  while (at < held.size()) {
    const auto first = first_character(std::string_view(held).substr(at));
    if (first.kind == FirstCharacter::Kind::cut) break;
    if (first.kind == FirstCharacter::Kind::whole) {
      out.append(held, at, first.size);
    } else {
      out += replacement_character;
    }
    at += first.size;
  }
  held.erase(0, at);
}

}  // namespace hearth::text
