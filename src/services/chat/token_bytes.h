// How log-probability blocks spell a token's bytes.
#pragma once

#include <string>
#include <string_view>

#include "text/token_bytes.h"

namespace hearth::services {

using text::token_bytes;

/// The bytes as text; "bytes:\xf0\x9f" when they are not whole UTF-8 characters, as OpenAI does.
std::string token_text(std::string_view bytes);

/// Whole, valid UTF-8.
bool is_utf8(std::string_view bytes);

}  // namespace hearth::services
