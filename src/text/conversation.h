// A conversation made fit for templates: what they may rely on, and what to try when one refuses.
#pragma once

#include "base/json.h"
#include "text/chat_template.h"

namespace hearth::text {

/// Messages without null members; reasoning under each name that templates read; missing content is
/// "", JSON text of tool arguments is an object (text that is no JSON object is kept in one field),
/// every tool schema node has a `type`.
Conversation normalised(Conversation conversation);

/// `schema` with a `type` in every node that lacks one, inferred from enum, const, properties,
/// items or anyOf; "string" where nothing tells.
Json with_types(Json schema);

/// System and developer turns as one turn at the front, neighbours of one role as one.
Conversation with_system_first(Conversation conversation);

/// Like with_system_first, but with the system text at the head of the first user turn.
Conversation with_system_in_user(Conversation conversation);

}  // namespace hearth::text
