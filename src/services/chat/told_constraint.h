// With HEARTH_GRAMMAR=0 no answer is held to its constraint: the model is told of it instead.
#pragma once

#include <string>

#include "services/chat/request.h"

namespace hearth::services {

/// Puts a system message that says what the answer must be before a conversation.
/// @return  the text of a `Warning` header; empty when the request asks for nothing to be held
std::string tell_constraint(Request& request);

}  // namespace hearth::services
