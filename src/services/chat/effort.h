// How hard the model is to think: each wire's words for it, and what templates call them.
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hearth::services {

struct EffortLevel {
  std::string_view word;   // the wire's
  std::string_view depth;  // the templates'
};

/// Sets `enable_thinking` and `reasoning_effort` of template kwargs, where they are not set yet:
/// the level "none" turns thinking off, any other turns it on. Nothing when `effort` is null.
/// @param name  of the field, for errors
/// Errors: invalid_request listing the levels.
Result<void> apply_effort(const Json* effort, std::string_view name,
                          std::span<const EffortLevel> levels, Json& kwargs);

/// `chat_template_kwargs` of a body; an empty object when there are none.
/// Errors: invalid_request naming it, or a known flag in it that is no boolean.
Result<Json> read_template_kwargs(const Json& body);

}  // namespace hearth::services
