// Is text UTF-8?
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace hearth::cli {

/// The first byte that is no part of well-formed UTF-8 (RFC 3629: no overlong forms, no
/// surrogates, nothing beyond U+10FFFF); none when all is well.
std::optional<std::size_t> invalid_utf8(std::string_view text);

}  // namespace hearth::cli
