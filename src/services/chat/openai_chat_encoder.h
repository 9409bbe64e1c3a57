// Answers of /v1/chat/completions: text, reasoning and tool calls, streamed and whole.
#pragma once

#include <memory>

#include "services/chat/protocol.h"

namespace hearth::services {

/// `reply_fields` {"function_call": true}: the call is told the older way, as one `function_call`.
std::unique_ptr<Encoder> openai_chat_encoder(const Request& request, ReplyInfo info);

}  // namespace hearth::services
