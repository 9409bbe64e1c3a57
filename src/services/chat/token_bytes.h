// The bytes that a token stands for, and how log-probability blocks spell them.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace hearth::services {

/// The token's bytes as its vocabulary spells them: byte-level letters, <0xNN> and the
/// SentencePiece space resolved. May be part of a character. Empty for an unknown id.
std::string token_bytes(const text::Tokenizer& tokenizer, text::TokenId id);

/// The bytes as text; "bytes:\xf0\x9f" when they are not whole UTF-8 characters, as OpenAI does.
std::string token_text(std::string_view bytes);

/// Whole, valid UTF-8.
bool is_utf8(std::string_view bytes);

}  // namespace hearth::services
