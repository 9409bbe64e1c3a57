// Content blocks of Anthropic's wire as OpenAI content parts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hearth::services {

/// The type of a block. Errors: invalid_request naming the block, when it is no object with a type.
Result<std::string> block_type(const Json& block, const std::string& where);

/// Appends what a `text`, `image`, `document` or `search_result` block says to OpenAI parts. Text
/// blocks become one part, `between` between them.
/// @return  false: the block is of another type
/// Errors: invalid_request naming the block: a source of an unknown type, audio, no text.
Result<bool> append_block(const Json& block, const std::string& where, std::string_view between,
                          Json& parts);

/// Parts of a string or a list of blocks, one text a line; blocks of unknown types are left out.
Result<Json> parts_of(const Json* content, const std::string& where);

}  // namespace hearth::services
