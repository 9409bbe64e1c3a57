// `instructions` and `input` of the Responses wire as chat messages.
#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "services/chat/base64.h"
#include "services/chat/custom_tool.h"
#include "services/chat/fields.h"
#include "services/chat/responses.h"
#include "services/chat/responses_reasoning.h"

namespace hearth::services {
namespace {

/// Text of an `input_file` part: base64 of plain text as `file_data`.
Result<Json> file_part(const Json& part, const std::string& where) {
  constexpr std::string_view expected = "a data URL of plain text: data:text/...;base64,...";
  const Json* data = field(part, "file_data");
  const std::string url = data && data->is_string() ? data->get<std::string>() : "";
  const auto comma = url.find(";base64,");
  if (!url.starts_with("data:text/") || comma == url.npos) {
    return fail(wrong_value(where + ".file_data", data ? *data : Json(), expected));
  }
  auto text = base64_decode(std::string_view(url).substr(comma + 8));
  if (!text) return fail(wrong_value(where + ".file_data", *data, expected));
  return Json{{"type", "text"}, {"text", std::move(*text)}};
}

/// A content part, or the error that normalise_messages would not find.
Result<Json> part_of(const Json& part, const std::string& where) {
  const Json* type = part.is_object() ? field(part, "type") : nullptr;
  if (!type) return fail(wrong_value(where, part, "a content part: an object with a type"));
  if (*type == "input_file") return file_part(part, where);
  return part;  // input_text and output_text hold a `text`, a refusal a `refusal`
}

Result<Json> content_parts(const Json* content, const std::string& where) {
  if (!content) return Json("");
  if (content->is_string()) return *content;
  if (!content->is_array())
    return fail(wrong_value(where, *content, "a string or a list of parts"));
  Json parts = Json::array();
  for (std::size_t i = 0; i < content->size(); ++i) {
    auto part = part_of((*content)[i], fmt::format("{}[{}]", where, i));
    if (!part) return part;
    parts.push_back(std::move(*part));
  }
  return parts;
}

Result<std::string> item_string(const Json& item, const std::string& where, const char* name) {
  const Json* value = field(item, name);
  if (value && value->is_string()) return value->get<std::string>();
  return fail(wrong_value(fmt::format("{}.{}", where, name), value ? *value : Json(), "a string"));
}

/// Walks the items; what belongs to one turn of the model becomes one message.
class Items {
 public:
  explicit Items(Converted& out) : out_(out) {}

  Result<void> add(const Json& item, const std::string& where);
  /// System and developer text, joined by blank lines.
  const std::string& system() const { return system_; }
  void add_system(std::string_view text) {
    if (!system_.empty() && !text.empty()) system_ += "\n\n";
    system_ += text;
  }

 private:
  Result<void> message(const Json& item, const std::string& where);
  Result<void> system_message(const Json& content, const std::string& where);
  Result<void> call(const Json& item, const std::string& where, bool custom);
  Result<void> output(const Json& item, const std::string& where);
  void assistant(Json message, const std::string& where);

  Converted& out_;
  std::string system_;
  std::string reasoning_;  // of the turn that comes next
};

void Items::assistant(Json message, const std::string& where) {
  if (!reasoning_.empty()) message["reasoning_content"] = std::exchange(reasoning_, {});
  out_.add(std::move(message), where);
}

Result<void> Items::system_message(const Json& content, const std::string& where) {
  if (content.is_string()) {
    add_system(content.get_ref<const std::string&>());
    return {};
  }
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    auto more = item_string(content[i], fmt::format("{}.content[{}]", where, i), "text");
    if (!more) return fail(more.error());
    text += *more;
  }
  add_system(text);
  return {};
}

Result<void> Items::message(const Json& item, const std::string& where) {
  auto content = content_parts(field(item, "content"), where + ".content");
  if (!content) return fail(content.error());
  const Json* role = field(item, "role");
  if (role && (*role == "system" || *role == "developer")) return system_message(*content, where);
  Json message{{"role", role ? *role : Json()}, {"content", std::move(*content)}};
  if (role && *role == "assistant") {
    assistant(std::move(message), where);
    return {};
  }
  if (!role || *role != "user") {
    return fail(wrong_value(where + ".role", role ? *role : Json(),
                            "user, assistant, system or developer"));
  }
  out_.add(std::move(message), where);
  return {};
}

Result<void> Items::call(const Json& item, const std::string& where, bool custom) {
  auto name = item_string(item, where, "name");
  if (!name) return fail(name.error());
  auto id = item_string(item, where, "call_id");
  if (!id) return fail(id.error());
  auto given = item_string(item, where, custom ? "input" : "arguments");
  if (!given) return fail(given.error());
  Json arguments = custom ? custom_arguments(*given) : Json(*given);
  Json made{{"id", *id},
            {"type", "function"},
            {"function", {{"name", *name}, {"arguments", std::move(arguments)}}}};
  const bool same_turn =
      reasoning_.empty() && !out_.messages.empty() && out_.messages.back()["role"] == "assistant";
  if (!same_turn) assistant({{"role", "assistant"}, {"content", ""}}, where);
  out_.messages.back()["tool_calls"].push_back(std::move(made));
  return {};
}

Result<void> Items::output(const Json& item, const std::string& where) {
  auto id = item_string(item, where, "call_id");
  if (!id) return fail(id.error());
  const Json* sent = field(item, "output");
  if (!sent) return fail(wrong_value(where + ".output", Json(), "a string or a list of parts"));
  auto content = content_parts(sent, where + ".output");
  if (!content) return fail(content.error());
  out_.add({{"role", "tool"}, {"content", std::move(*content)}, {"tool_call_id", *id}}, where);
  return {};
}

Result<void> Items::add(const Json& item, const std::string& where) {
  if (!item.is_object()) return fail(wrong_value(where, item, "an item: an object"));
  const Json* type = field(item, "type");
  if (!type && !field(item, "role")) {
    return fail(wrong_value(where, item, "an item with a type, or a message with a role"));
  }
  if (!type || *type == "message") return message(item, where);
  if (*type == "function_call") return call(item, where, false);
  if (*type == "custom_tool_call") return call(item, where, true);
  if (*type == "function_call_output" || *type == "custom_tool_call_output") {
    return output(item, where);
  }
  if (*type == "reasoning") {
    reasoning_ = reasoning_text(item);
  } else if (*type == "item_reference") {
    return fail(ErrorCode::invalid_request,
                fmt::format("{}: item references cannot be followed; send the item itself, or "
                            "`previous_response_id`",
                            where),
                where);
  } else if (field(item, "role")) {
    return message(item, where);
  } else {
    log::warn("{}: an item of type {} is left out", where, type->dump());
  }
  return {};
}

}  // namespace

Result<Converted> responses_conversation(const Json& body) {
  Converted turns;
  Items items(turns);
  auto instructions = read_string(body, "instructions");
  if (!instructions) return fail(instructions.error());
  items.add_system(instructions->value_or(""));
  const Json* input = field(body, "input");
  if (input && input->is_string()) {
    turns.add({{"role", "user"}, {"content", *input}}, "input");
  } else if (input && input->is_array()) {
    for (std::size_t i = 0; i < input->size(); ++i) {
      auto added = items.add((*input)[i], fmt::format("input[{}]", i));
      if (!added) return fail(added.error());
    }
  } else if (input) {
    return fail(wrong_value("input", *input, "a string or a list of items"));
  }
  if (items.system().empty()) return turns;
  Converted all;
  all.add({{"role", "system"}, {"content", items.system()}}, "instructions");
  for (std::size_t i = 0; i < turns.origins.size(); ++i) {
    all.add(std::move(turns.messages[i]), std::move(turns.origins[i]));
  }
  return all;
}

}  // namespace hearth::services
