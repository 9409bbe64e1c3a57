// What decides an answer besides its prompt's tokens and its sampling.
#pragma once

#include <string>

#include "services/chat/request.h"

namespace hearth::services {

/// A text that differs where two requests with the same prompt, sampling and limit may be answered
/// differently: stop strings, the constraint, the tools and which may be called, the budget of
/// reasoning.
/// @param input  one of the request's
std::string answer_scope(const Request& request, const Input& input,
                         const ServerDefaults& defaults);

}  // namespace hearth::services
