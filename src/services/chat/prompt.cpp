#include "services/chat/prompt.h"

#include <fmt/format.h>

#include <utility>

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

Result<Ids> encode_chat(const LoadedModel& model, const text::Conversation& sent,
                        const ServerDefaults& defaults) {
  if (!model.chat_template) {
    return fail(ErrorCode::invalid_request,
                fmt::format("{} has no chat template ({}); use /v1/completions with a raw prompt",
                            model.id, model.no_template_reason),
                "messages");
  }
  auto conversation = with_thinking(sent, defaults);
  auto ids = model.chat_template->encode(conversation);
  for (const auto repair : {merge_turns, fold_system}) {
    if (ids || ids.error().code != ErrorCode::invalid_request) break;
    conversation.messages = repair(sent.messages);
    if (auto repaired = model.chat_template->encode(conversation)) return repaired;
  }
  if (!ids && ids.error().param.empty()) ids.error().param = "messages";
  return ids;
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
