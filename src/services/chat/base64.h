// Base64, RFC 4648: the standard alphabet.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth::services {

std::string base64_encode(std::string_view bytes);

/// White space and missing padding are tolerated; none for anything else that is not base64.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace hearth::services
