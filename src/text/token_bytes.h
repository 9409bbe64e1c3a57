// The bytes that a token stands for, as its vocabulary spells them.
#pragma once

#include <string>

#include "text/tokenizer.h"

namespace hearth::text {

/// Byte-level letters, <0xNN> and the SentencePiece space resolved. May be part of a character.
/// Empty for an unknown id.
std::string token_bytes(const Tokenizer& tokenizer, TokenId id);

}  // namespace hearth::text
