#include "services/chat/origins.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "services/chat/normalise.h"

namespace hearth::services {
namespace {

constexpr std::string_view converted_name = "messages[";

/// "messages[2].content" with "input[5]" to "input[5].content".
void rename(std::string& text, const std::vector<std::string>& origins) {
  const auto at = text.find(converted_name);
  if (at == text.npos) return;
  const char* digits = text.data() + at + converted_name.size();
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(digits, text.data() + text.size(), index);
  if (error != std::errc() || index >= origins.size()) return;
  text.replace(at, std::size_t(end - text.data()) + 1 - at, origins[index]);
}

}  // namespace

void Converted::add(Json message, std::string origin) {
  messages.push_back(std::move(message));
  origins.push_back(std::move(origin));
}

Result<Json> normalise_converted(const Converted& converted, std::string_view model) {
  auto messages = normalise_messages(&converted.messages, model);
  if (messages) return messages;
  Error error = messages.error();
  rename(error.message, converted.origins);
  rename(error.param, converted.origins);
  return fail(std::move(error));
}

void append_text(Json& parts, std::string_view text, std::string_view between) {
  if (!parts.empty() && parts.back()["type"] == "text") {
    auto& before = parts.back()["text"].get_ref<std::string&>();
    before.append(between).append(text);
  } else {
    parts.push_back({{"type", "text"}, {"text", text}});
  }
}

void continue_last_turn(text::Conversation& chat) {
  const Json& last = chat.messages.back();
  if (last["role"] != "assistant" || last.contains("tool_calls")) return;
  if (last["content"] == "" && chat.messages.size() > 1) {
    chat.messages.erase(chat.messages.size() - 1);
    return;
  }
  chat.continue_final_message = true;
  chat.add_generation_prompt = false;
}

Result<void> check_tool_choice(const ToolChoice& choice, const Json& tools) {
  if (choice.mode != ToolChoice::Mode::none) {
    for (const std::string& name : choice.names) {
      const bool known = std::ranges::any_of(
          tools, [&](const Json& tool) { return tool["function"]["name"] == name; });
      if (!known) {
        return fail(ErrorCode::invalid_request,
                    fmt::format("`tool_choice` names \"{}\", which is none of the tools", name),
                    "tool_choice");
      }
    }
  }
  if (choice.mode == ToolChoice::Mode::required && tools.empty()) {
    return fail(ErrorCode::invalid_request,
                "`tool_choice` demands a call, but there are no tools to call", "tool_choice");
  }
  return {};
}

}  // namespace hearth::services
