// Reasoning items of the Responses wire.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace hearth::services {

/// What `encrypted_content` holds: the reasoning in base64 behind a mark of ours. It is no secret;
/// it lets a client that stores nothing hand the reasoning back.
std::string sealed_reasoning(std::string_view text);

/// Text of a reasoning item: its content, else what is sealed in it, else its summary. Content
/// sealed by somebody else cannot be read and counts as none.
std::string reasoning_text(const Json& item);

}  // namespace hearth::services
