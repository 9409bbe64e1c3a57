// What a model's output is made of besides text: how it marks reasoning and tool calls.
#pragma once

#include <span>

#include "services/chat/request.h"
#include "services/model.h"
#include "text/dialect/dialect.h"
#include "text/dialect/reasoning.h"

namespace hearth::services {

struct OutputFormat {
  const text::Reasoning* reasoning = nullptr;  // null: none is looked for
  bool starts_in_reasoning = false;
  const text::Dialect* dialect = nullptr;  // null: no calls are looked for
  text::ToolSet tools;
  bool parallel = true;  // false: the answer ends after its first call
};

/// How the model writes tool calls: by its chat template, else by its family.
const text::Dialect& dialect_of(const LoadedModel& model);

/// How the model marks its reasoning; null when it does not.
const text::Reasoning* reasoning_of(const LoadedModel& model);

/// The format of the answer to `input`: none for raw text; calls only where the request has tools
/// that may be called.
/// @param prompt  the token ids of `input`: they show whether the answer starts as reasoning
OutputFormat output_format(const LoadedModel& model, const Request& request, const Input& input,
                           std::span<const text::TokenId> prompt);

}  // namespace hearth::services
