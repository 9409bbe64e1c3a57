#include "services/chat/output_format.h"

#include <algorithm>

namespace hearth::services {
namespace {

constexpr std::size_t tail_tokens = 32;  // more than an opened channel and its white space take

std::string_view template_source(const LoadedModel& model) {
  return model.chat_template ? std::string_view(model.chat_template->source()) : std::string_view();
}

std::string_view without_space_at_end(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == text.npos ? 0 : last + 1);
}

/// The prompt ends in an opening, or goes on with an assistant's turn that has an open one.
bool starts_in_reasoning(const LoadedModel& model, const text::Conversation& chat,
                         const text::Reasoning& reasoning, std::span<const text::TokenId> prompt) {
  if (chat.continue_final_message && !chat.messages.empty()) {
    const Json& content = chat.messages.back().value("content", Json());
    return content.is_string() &&
           text::starts_in_reasoning(reasoning, content.get_ref<const std::string&>());
  }
  const auto last = prompt.last(std::min(prompt.size(), tail_tokens));
  const auto tail = model.tokenizer->decode(last, false);
  const auto at = tail.rfind(reasoning.open);
  if (at == tail.npos || !text::starts_in_reasoning(reasoning, tail)) return false;
  // Only the channel's own name may follow: a marker in a user's message is followed by more.
  const auto rest = without_space_at_end(std::string_view(tail).substr(at + reasoning.open.size()));
  return rest.empty() || (reasoning.named && rest.find_first_of(" \n") == rest.npos);
}

}  // namespace

const text::Dialect& dialect_of(const LoadedModel& model) {
  return text::find_dialect(template_source(model), model.info.tool_dialect);
}

const text::Reasoning* reasoning_of(const LoadedModel& model) {
  return text::find_reasoning(template_source(model), *model.tokenizer);
}

OutputFormat output_format(const LoadedModel& model, const Request& request, const Input& input,
                           std::span<const text::TokenId> prompt) {
  OutputFormat format;
  const auto* chat = std::get_if<text::Conversation>(&input);
  if (!chat) return format;
  format.reasoning = reasoning_of(model);
  if (format.reasoning) {
    format.starts_in_reasoning = starts_in_reasoning(model, *chat, *format.reasoning, prompt);
  }
  format.tools = text::ToolSet(chat->tools, request.tool_choice.names);
  if (!format.tools.empty() && request.tool_choice.mode != ToolChoice::Mode::none) {
    format.dialect = &dialect_of(model);
  }
  format.parallel = request.tool_choice.parallel;
  return format;
}

}  // namespace hearth::services
