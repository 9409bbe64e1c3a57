// `system` and `messages` of Anthropic's wire as OpenAI messages.
#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "services/chat/anthropic.h"
#include "services/chat/anthropic_blocks.h"
#include "services/chat/fields.h"

namespace hearth::services {
namespace {

/// Claude Code opens its system text with one of these; it changes with every request and would
/// cost the prompt's cached prefix.
constexpr std::string_view billing_header = "x-anthropic-billing-header:";

Result<std::string> system_text(const Json& system) {
  if (system.is_string()) {
    std::string text = system.get<std::string>();
    if (text.starts_with(billing_header)) text.erase(0, std::min(text.find('\n'), text.size()));
    return text;
  }
  if (!system.is_array()) return fail(wrong_value("system", system, "a string or text blocks"));
  std::string joined;
  bool first = true;
  for (std::size_t i = 0; i < system.size(); ++i) {
    const std::string where = fmt::format("system[{}]", i);
    auto type = block_type(system[i], where);
    if (!type) return fail(type.error());
    const Json* text = field(system[i], "text");
    if (*type != "text" || !text || !text->is_string()) {
      return fail(wrong_value(where, system[i], "a text block"));
    }
    const auto& words = text->get_ref<const std::string&>();
    if (words.starts_with(billing_header)) continue;
    if (!std::exchange(first, false)) joined += '\n';
    joined += words;
  }
  return joined;
}

Result<Json> tool_message(const Json& block, const std::string& where) {
  auto parts = parts_of(field(block, "content"), where + ".content");
  if (!parts) return fail(parts.error());
  auto failed = read_bool(block, "is_error");
  if (!failed) return fail(wrong_value(where + ".is_error", block["is_error"], "true or false"));
  if (failed->value_or(false)) {
    Json marked = Json::array({{{"type", "text"}, {"text", "Error: "}}});
    for (Json& part : *parts) {
      if (part["type"] == "text") {
        append_text(marked, part["text"].get_ref<const std::string&>(), "");
      } else {
        marked.push_back(std::move(part));
      }
    }
    *parts = std::move(marked);
  }
  Json message{{"role", "tool"}, {"content", std::move(*parts)}};
  if (const Json* id = field(block, "tool_use_id")) message["tool_call_id"] = *id;
  return message;
}

/// One message a tool result, and one for what stands between them.
Result<void> add_user_blocks(const Json& role, const Json& blocks, const std::string& where,
                             Converted& out) {
  Json parts = Json::array();
  const auto flush = [&] {
    if (parts.empty()) return;
    out.add({{"role", role}, {"content", std::exchange(parts, Json::array())}}, where);
  };
  const std::size_t before = out.origins.size();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string at = fmt::format("{}.content[{}]", where, i);
    auto known = append_block(blocks[i], at, "\n", parts);
    if (!known) return fail(known.error());
    if (*known) continue;
    if (blocks[i]["type"] == "tool_result") {
      auto message = tool_message(blocks[i], at);
      if (!message) return fail(message.error());
      flush();
      out.add(std::move(*message), at);
    } else {
      log::warn("{}: a block of type {} is left out", at, blocks[i]["type"].dump());
    }
  }
  flush();
  if (out.origins.size() == before) out.add({{"role", role}, {"content", ""}}, where);
  return {};
}

Json tool_call(const Json& block) {
  Json call{{"id", block.value("id", Json())},
            {"type", "function"},
            {"function",
             {{"name", block.value("name", Json())},
              {"arguments", block.value("input", Json::object())}}}};
  return call;
}

/// Signatures are not looked at: a conversation may come from another server. What was redacted
/// cannot be read and is left out.
Result<void> add_assistant_blocks(const Json& blocks, const std::string& where, Converted& out) {
  Json message{{"role", "assistant"}, {"content", Json::array()}};
  std::string reasoning;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string at = fmt::format("{}.content[{}]", where, i);
    auto known = append_block(blocks[i], at, "", message["content"]);
    if (!known) return fail(known.error());
    if (*known) continue;
    const Json& type = blocks[i]["type"];
    if (type == "thinking") {
      const Json* text = field(blocks[i], "thinking");
      if (!text || !text->is_string()) {
        return fail(wrong_value(at + ".thinking", text ? *text : Json(), "a string"));
      }
      if (!reasoning.empty()) reasoning += "\n\n";
      reasoning += text->get_ref<const std::string&>();
    } else if (type == "tool_use") {
      message["tool_calls"].push_back(tool_call(blocks[i]));
    } else if (type != "redacted_thinking") {
      log::warn("{}: a block of type {} is left out", at, type.dump());
    }
  }
  if (!reasoning.empty()) message["reasoning_content"] = std::move(reasoning);
  out.add(std::move(message), where);
  return {};
}

Result<void> add_message(const Json& message, const std::string& where, Converted& out) {
  const Json* role = message.is_object() ? field(message, "role") : nullptr;
  const bool from_model = role && *role == "assistant";
  if (!from_model && !(role && (*role == "user" || *role == "system" || *role == "developer"))) {
    Error error = wrong_value(where + ".role", role ? *role : Json(), "\"user\" or \"assistant\"");
    if (!message.is_object()) {
      error = wrong_value(where, message, "an object with role and content");
    }
    return fail(std::move(error));
  }
  const Json* content = field(message, "content");
  if (!content || content->is_string()) {
    out.add({{"role", *role}, {"content", content ? *content : Json("")}}, where);
    return {};
  }
  if (!content->is_array()) {
    return fail(wrong_value(where + ".content", *content, "a string or a list of content blocks"));
  }
  if (from_model) return add_assistant_blocks(*content, where, out);
  return add_user_blocks(*role, *content, where, out);
}

}  // namespace

Result<Converted> anthropic_conversation(const Json& body) {
  Converted out;
  if (const Json* system = field(body, "system")) {
    auto text = system_text(*system);
    if (!text) return fail(text.error());
    if (!text->empty()) out.add({{"role", "system"}, {"content", std::move(*text)}}, "system");
  }
  const Json* messages = field(body, "messages");
  if (!messages || (messages->is_array() && messages->empty())) {
    return fail(ErrorCode::invalid_request, "messages required", "messages");
  }
  if (!messages->is_array()) return fail(wrong_value("messages", *messages, "an array"));
  for (std::size_t i = 0; i < messages->size(); ++i) {
    auto added = add_message((*messages)[i], fmt::format("messages[{}]", i), out);
    if (!added) return fail(added.error());
  }
  return out;
}

}  // namespace hearth::services
