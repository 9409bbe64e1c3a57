// What is too long for the model whatever its tokens are.
#include <fmt/format.h>

#include <algorithm>

#include "services/chat/prompt.h"

namespace hearth::services {
namespace {

/// The fewest tokens of all strings in a document.
std::size_t least_tokens(const text::Tokenizer& tokenizer, const Json& json) {
  if (json.is_string()) return tokenizer.least_tokens(json.get_ref<const std::string&>());
  std::size_t sum = 0;
  if (json.is_structured()) {
    for (const Json& inner : json) sum += least_tokens(tokenizer, inner);
  }
  return sum;
}

/// The fewest tokens of an input. What the template leaves out does not count, so a conversation
/// that may be too long is rendered.
std::size_t least_tokens(const LoadedModel& model, const Input& input, std::size_t context) {
  const auto& tokenizer = *model.tokenizer;
  if (const auto* text = std::get_if<std::string>(&input)) return tokenizer.least_tokens(*text);
  const auto* chat = std::get_if<text::Conversation>(&input);
  if (!chat || !model.chat_template) return 0;
  const auto all = least_tokens(tokenizer, chat->messages) + least_tokens(tokenizer, chat->tools);
  if (all < context) return 0;
  const auto rendered = model.chat_template->render(*chat);
  if (!rendered) return 0;  // which is told by whoever encodes it
  std::size_t sum = 0;
  for (const auto& segment : rendered->segments) sum += tokenizer.least_tokens(segment.text);
  return sum;
}

}  // namespace

Result<void> may_fit(const LoadedModel& model, const Input& input) {
  const auto context = std::size_t(std::max(0, model.info.context_length));
  const auto least = context > 0 ? least_tokens(model, input, context) : 0;
  if (least == 0 || least < context) return {};
  if (!model.stats || model.stats().enforced_context == 0) return {};
  return fail(ErrorCode::context_overflow,
              fmt::format("prompt is too long: {} tokens > {} maximum (at least: so long a text is "
                          "not tokenised; the model's context is {}, of which one must be left "
                          "for the answer)",
                          least, context - 1, context));
}

}  // namespace hearth::services
