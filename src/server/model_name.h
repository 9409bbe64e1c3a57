// Which model a request means. A name that no model of the catalog answers to is looked up nowhere
// else.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hearth::server {

struct Context;

/// The model of a body's `model`: null, absent and, with ServerOptions::any_model, any unknown name
/// mean the first. Another type is left to the protocol to refuse.
/// Errors: not_found, param "model". Needs an open pool.
Result<std::size_t> model_asked_for(const Context& context, const Json& body);

/// Whether the body's `model` is a name rather than nothing.
bool names_a_model(const Json& body);

/// The model of this name. Errors: not_found, param "model".
Result<std::size_t> model_named(const Context& context, std::string_view name);

}  // namespace hearth::server
