// Ollama's wire: what its files share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "services/chat/protocol.h"

namespace hearth::services {

/// {"error": "..."}
Json ollama_error(const Error& error);

/// The reply to a body without messages or prompt, which asks only to load the model (or, with a
/// `keep_alive` of 0, to drop it: nothing is dropped here); none for the others.
std::optional<Json> ollama_load_reply(const Json& body, std::string_view model, bool chat);

/// Now, as "2026-01-31T12:00:00.123456789Z".
std::string ollama_time();

enum class OllamaRoute { chat, generate };
std::unique_ptr<Encoder> ollama_encoder(OllamaRoute route, const Request& request, ReplyInfo info);

}  // namespace hearth::services
