// `options` of Ollama's wire, and what stands beside them: think, format, keep_alive, logprobs.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "services/chat/request.h"

namespace hearth::services {

/// Fills in sampling, stop strings, log-probabilities, constraint and `stream`, which is true
/// unless the body says otherwise. Options that choose memory or machinery (num_ctx, num_gpu, ...)
/// and samplers that are not here (mirostat, tfs_z, typical_p) change nothing. Errors:
/// invalid_request naming the field.
Result<void> read_ollama_options(const Json& body, Request& request);

/// Template kwargs of `think`: true, false or a level. Errors: invalid_request.
Result<Json> ollama_kwargs(const Json& body);

}  // namespace hearth::services
