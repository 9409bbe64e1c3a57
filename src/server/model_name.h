// Which names of a request mean the model that is served. Nothing is ever looked up or loaded for
// a name.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "server/context.h"

namespace hearth::server {

/// The id in /v1/models, the model's own id, the name of its folder or file, or "local", which
/// `hearth launch` writes where it cannot ask; each also with Ollama's ":latest".
bool names_served_model(const Context& context, std::string_view name);

/// Checks a body's `model`: null, absent and, with ServerOptions::any_model, any text mean the
/// served model. Another type is left to the protocol to refuse.
/// Errors: not_found, param "model".
Result<void> check_model_name(const Context& context, const Json& body);

/// not_found: no model of this name, and which one there is.
Error unknown_model(const Context& context, std::string_view name);

}  // namespace hearth::server
