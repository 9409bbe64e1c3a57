// The grammar of one answer's text: constrained text, forced calls, either of both, or free text
// whose calls are held.
#pragma once

#include <memory>

#include "services/chat/answer_mask.h"
#include "services/chat/output_format.h"
#include "services/chat/request.h"
#include "services/model.h"

namespace hearth::services {

/// What one answer is made from.
struct Asked {
  const LoadedModel& model;
  const Request& request;
  const Input& input;
  const OutputFormat& format;
};

/// Whether the request holds its answer's text in any way.
bool holds_text(const Asked& asked);

/// Errors: invalid_schema naming keyword and place (`param`) of what cannot be held.
Result<TextRule> text_rule(const Asked& asked, std::shared_ptr<const text::Grammars> grammars);

}  // namespace hearth::services
