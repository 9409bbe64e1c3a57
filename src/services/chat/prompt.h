// A request's input to the token ids the model reads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "services/chat/request.h"
#include "services/model.h"

namespace hearth::services {

/// Token ids of one input. A conversation goes through the model's template; where the template
/// refuses it, once more with system turns merged to the front and neighbours of one role joined,
/// then with the system text put before the first user turn. A template that knows nothing of tools
/// gets calls and, where it refuses their role, results as text (told_calls.h).
/// Errors: invalid_request, with the template's words for the conversation as it was sent.
Result<std::vector<text::TokenId>> encode_input(const LoadedModel& model, const Input& input,
                                                const ServerDefaults& defaults);

/// Whether a prompt may fit the model's context, by the bytes of its text alone: what cannot is
/// known before it is tokenised, which takes seconds for millions of bytes. Error:
/// context_overflow, with the fewest tokens that it comes to.
Result<void> may_fit(const LoadedModel& model, const Input& input);

/// The text of a prompt, as an answer with `echo` says it again.
/// @param ids  of `input`
std::string echo_text(const LoadedModel& model, const Input& input,
                      std::span<const text::TokenId> ids);

/// Whether the model will think on this input: as asked for, else as the template does by default.
bool thinks(const LoadedModel& model, const Input& input, const ServerDefaults& defaults);

/// System messages joined at the front, neighbours of one role joined with a blank line between.
/// Messages with tool calls or a tool_call_id stay as they are.
Json merge_turns(const Json& messages);

/// As merge_turns, and the system text opens the first user message.
Json fold_system(const Json& messages);

}  // namespace hearth::services
