// From what a request asks of its answer (a schema, a grammar, forced tools, a thinking budget) to
// the mask that holds the answer to it.
#pragma once

#include <memory>

#include "engine/token_mask.h"
#include "services/chat/output_format.h"
#include "services/chat/request.h"
#include "services/model.h"

namespace hearth::services {

/// The mask of one answer; null when the request leaves it free.
/// @param format  of the same answer
/// Errors: invalid_schema naming keyword and place (`param`) of what cannot be held.
Result<std::shared_ptr<engine::TokenMask>> answer_mask(const LoadedModel& model,
                                                       const Request& request, const Input& input,
                                                       const OutputFormat& format,
                                                       const ServerDefaults& defaults);

}  // namespace hearth::services
