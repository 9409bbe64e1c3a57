// Anthropic's Messages wire: what its files share.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "services/chat/origins.h"
#include "services/chat/protocol.h"

namespace hearth::services {

/// {"type":"error","error":{"type","message"}}
Json anthropic_error(const Error& error);

/// `system` and `messages` of a body in OpenAI's shape.
/// Errors: invalid_request naming message or block.
Result<Converted> anthropic_conversation(const Json& body);

std::unique_ptr<Encoder> anthropic_encoder(const Request& request, ReplyInfo info);

}  // namespace hearth::services
