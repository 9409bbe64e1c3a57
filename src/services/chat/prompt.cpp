#include "services/chat/prompt.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <utility>

#include "services/chat/call_id.h"
#include "services/chat/output_format.h"
#include "services/chat/told_calls.h"

namespace hearth::services {
namespace {

using Ids = std::vector<text::TokenId>;

bool mergeable(const Json& a, const Json& b) {
  const auto plain = [](const Json& m) {
    return !m.contains("tool_calls") && !m.contains("tool_call_id") && m["content"].is_string();
  };
  return a["role"] == b["role"] && plain(a) && plain(b);
}

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "\n\n" + b;
}

text::Conversation with_thinking(text::Conversation conversation, const ServerDefaults& defaults) {
  if (defaults.thinking && !conversation.kwargs.contains("enable_thinking")) {
    conversation.kwargs["enable_thinking"] = *defaults.thinking;
  }
  return conversation;
}

/// The message from which on the template refuses the conversation with these words: growing
/// beginnings are rendered until one is refused so. None when that does not tell.
std::optional<std::size_t> refused_message(const text::ChatTemplate& chat_template,
                                           text::Conversation conversation,
                                           const std::string& words) {
  constexpr std::size_t most_messages = 256;
  const Json messages = std::move(conversation.messages);
  if (messages.size() > most_messages) return std::nullopt;
  conversation.messages = Json::array();
  conversation.retry_merged = false;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    conversation.messages.push_back(messages[i]);
    const auto rendered = chat_template.render(conversation);
    if (!rendered && rendered.error().message == words) return i;
  }
  return std::nullopt;
}

/// Says which message a template refuses.
Error naming_message(Error error, const text::ChatTemplate& chat_template,
                     const text::Conversation& conversation) {
  if (error.param.empty()) error.param = "messages";
  if (const auto i = refused_message(chat_template, conversation, error.message)) {
    error.param = fmt::format("messages[{}]", *i);
    error.message += fmt::format(" (at messages[{}])", *i);
  }
  return error;
}

using Repair = Json (*)(const Json& messages);

/// What is tried in turn where a template refuses a conversation.
std::span<const Repair> repairs(bool tells_calls) {
  static constexpr std::array<Repair, 4> all{
      merge_turns, fold_system,
      [](const Json& messages) { return merge_turns(with_told_results(messages)); },
      [](const Json& messages) { return fold_system(with_told_results(messages)); }};
  return std::span(all).first(tells_calls ? 4 : 2);
}

Result<Ids> encode_chat(const LoadedModel& model, const text::Conversation& sent,
                        const ServerDefaults& defaults) {
  if (!model.chat_template) {
    return fail(ErrorCode::invalid_request,
                fmt::format("{} has no chat template ({}); use /v1/completions with a raw prompt",
                            model.id, model.no_template_reason),
                "messages");
  }
  auto conversation = with_thinking(sent, defaults);
  if (wants_short_call_ids(model.chat_template->source())) {
    conversation.messages = with_short_call_ids(std::move(conversation.messages));
  }
  const bool tells_calls = drops_calls(*model.chat_template);
  if (tells_calls) {
    const auto& shape = told_shape(dialect_of(model));
    auto told = with_told_calls(std::move(conversation.messages), shape);
    conversation.messages = with_told_tools(std::move(told), conversation.tools, shape);
  }
  const auto original = conversation;
  auto ids = model.chat_template->encode(conversation);
  for (const auto repair : repairs(tells_calls)) {
    if (ids || ids.error().code != ErrorCode::invalid_request) break;
    conversation.messages = repair(original.messages);
    if (auto repaired = model.chat_template->encode(conversation)) return repaired;
  }
  if (ids || ids.error().code != ErrorCode::invalid_request) return ids;
  return fail(naming_message(ids.error(), *model.chat_template, original));
}

}  // namespace

Json merge_turns(const Json& messages) {
  std::string system;
  Json merged = Json::array();
  for (const Json& message : messages) {
    if (message["role"] == "system" && message["content"].is_string()) {
      system = joined(system, message["content"].get<std::string>());
    } else if (!merged.empty() && mergeable(merged.back(), message)) {
      merged.back()["content"] = joined(merged.back()["content"].get<std::string>(),
                                        message["content"].get<std::string>());
    } else {
      merged.push_back(message);
    }
  }
  if (!system.empty()) merged.insert(merged.begin(), Json{{"role", "system"}, {"content", system}});
  return merged;
}

Json fold_system(const Json& messages) {
  Json merged = merge_turns(messages);
  if (merged.empty() || merged[0]["role"] != "system") return merged;
  const auto system = merged[0]["content"].get<std::string>();
  merged.erase(merged.begin());
  if (merged.empty() || merged[0]["role"] != "user" || !merged[0]["content"].is_string()) {
    merged.insert(merged.begin(), Json{{"role", "user"}, {"content", system}});
  } else {
    merged[0]["content"] = joined(system, merged[0]["content"].get<std::string>());
  }
  return merged;
}

std::string echo_text(const LoadedModel& model, const Input& input,
                      std::span<const text::TokenId> ids) {
  if (const auto* text = std::get_if<std::string>(&input)) return *text;
  return model.tokenizer->decode(ids, true);
}

bool thinks(const LoadedModel& model, const Input& input, const ServerDefaults& defaults) {
  const auto* conversation = std::get_if<text::Conversation>(&input);
  if (!conversation || !model.chat_template || !model.chat_template->supports_thinking()) {
    return false;
  }
  const auto& kwargs = conversation->kwargs;
  if (const auto asked = kwargs.find("enable_thinking");
      asked != kwargs.end() && asked->is_boolean()) {
    return asked->get<bool>();
  }
  return defaults.thinking.value_or(true);
}

Result<Ids> encode_input(const LoadedModel& model, const Input& input,
                         const ServerDefaults& defaults) {
  if (const auto* chat = std::get_if<text::Conversation>(&input)) {
    return encode_chat(model, *chat, defaults);
  }
  if (const auto* text = std::get_if<std::string>(&input)) {
    return model.tokenizer->encode(*text, {.add_special = true, .parse_markers = true});
  }
  return std::get<Ids>(input);
}

}  // namespace hearth::services
