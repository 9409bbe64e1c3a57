#include "services/chat/responses_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "services/chat/fields.h"
#include "services/chat/typed_events.h"

namespace hearth::services {
namespace {

constexpr std::size_t usual_page = 20, largest_page = 100;

const char* id_prefix(const Json& type) {
  if (type == "function_call") return "fc_";
  if (type == "function_call_output") return "fco_";
  if (type == "custom_tool_call") return "ctc_";
  if (type == "custom_tool_call_output") return "ctco_";
  return type == "reasoning" ? "rs_" : "msg_";
}

Json listed(const Json& sent) {
  Json item{{"id", nullptr}};
  item.update(sent);
  if (!field(item, "type")) item["type"] = "message";
  if (!field(item, "id")) item["id"] = new_id(id_prefix(item["type"]));
  if (!field(item, "status") && item["type"] != "reasoning") item["status"] = "completed";
  if (item["type"] != "message") return item;
  const bool from_model = item.value("role", Json()) == "assistant";
  Json& content = item["content"];
  if (content.is_string() && from_model) {
    content =
        Json::array({{{"type", "output_text"}, {"text", content}, {"annotations", Json::array()}}});
  } else if (content.is_string()) {
    content = Json::array({{{"type", "input_text"}, {"text", content}}});
  }
  return item;
}

std::map<std::string, std::string, std::less<>> query_fields(std::string_view query) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto pair = query.substr(0, end);
    const auto equals = std::min(pair.find('='), pair.size());
    fields.emplace(pair.substr(0, equals), equals < pair.size() ? pair.substr(equals + 1) : "");
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return fields;
}

Result<std::size_t> page_size(const std::string& text) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 1 || size > largest_page) {
    return fail(wrong_value("limit", text, fmt::format("a number from 1 to {}", largest_page)));
  }
  return size;
}

/// Where turns begin: at a user's message.
std::vector<std::size_t> turn_starts(const Json& items) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Json* role = items[i].is_object() ? field(items[i], "role") : nullptr;
    if (role && *role == "user") starts.push_back(i);
  }
  return starts;
}

bool stays(const Json& item) {
  const Json* role = item.is_object() ? field(item, "role") : nullptr;
  return role && (*role == "system" || *role == "developer");
}

Json without_items_before(const Json& body, std::size_t start) {
  Json shorter = body;
  shorter["input"] = Json::array();
  for (std::size_t i = 0; i < body["input"].size(); ++i) {
    const Json& item = body["input"][i];
    if (i >= start || stays(item)) shorter["input"].push_back(item);
  }
  return shorter;
}

}  // namespace

Json listed_items(const Json& input) {
  if (input.is_string()) return listed_items(Json::array({{{"role", "user"}, {"content", input}}}));
  Json items = Json::array();
  if (!input.is_array()) return items;
  for (const Json& item : input) {
    if (item.is_object()) items.push_back(listed(item));
  }
  return items;
}

Result<Json> with_history(Json body, ResponseStore& store) {
  const Json* input = field(body, "input");
  if (input && !input->is_string() && !input->is_array()) {
    return fail(wrong_value("input", *input, "a string or a list of items"));
  }
  auto previous = read_string(body, "previous_response_id");
  if (!previous) return fail(previous.error());
  if (!*previous) return body;
  const auto stored = store.find(**previous);
  if (!stored) {
    return fail(ErrorCode::not_found,
                fmt::format("no response \"{}\" is stored here: it is unknown, was not to be "
                            "stored, or is too old",
                            **previous),
                "previous_response_id");
  }
  Json items = stored->input;
  for (const Json& item : stored->response["output"]) {
    if (item["type"] != "reasoning") items.push_back(item);
  }
  if (input && input->is_string()) {
    items.push_back({{"role", "user"}, {"content", *input}});
  } else if (input) {
    for (const Json& item : *input) items.push_back(item);
  }
  body["input"] = std::move(items);
  if (!field(body, "instructions")) body["instructions"] = stored->response["instructions"];
  return body;
}

Result<Json> item_page(const Json& items, std::string_view query) {
  const auto asked = query_fields(query);
  const auto value = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = asked.find(name);
    return found == asked.end() ? std::nullopt : std::optional(found->second);
  };
  const std::string order = value("order").value_or("desc");
  if (order != "asc" && order != "desc") {
    return fail(wrong_value("order", order, "\"asc\" or \"desc\""));
  }
  std::size_t limit = usual_page;
  if (const auto text = value("limit")) {
    auto size = page_size(*text);
    if (!size) return fail(size.error());
    limit = *size;
  }
  Json ordered = items;
  if (order == "desc") std::reverse(ordered.begin(), ordered.end());
  auto first = ordered.begin();
  if (const auto after = value("after")) {
    first = std::ranges::find_if(ordered, [&](const Json& item) { return item["id"] == *after; });
    if (first == ordered.end()) return fail(wrong_value("after", *after, "the id of an item"));
    ++first;
  }
  const auto count = std::min<std::size_t>(limit, std::size_t(ordered.end() - first));
  Json data = Json::array();
  for (std::size_t i = 0; i < count; ++i) data.push_back(*(first + std::ptrdiff_t(i)));
  return Json{{"object", "list"},
              {"first_id", data.empty() ? Json() : data.front()["id"]},
              {"last_id", data.empty() ? Json() : data.back()["id"]},
              {"has_more", std::size_t(ordered.end() - first) > count},
              {"data", std::move(data)}};
}

Json truncated(Json body, const std::function<bool(const Json& body)>& fits) {
  const Json* truncation = field(body, "truncation");
  const Json* input = field(body, "input");
  if (!truncation || *truncation != "auto" || !input || !input->is_array()) return body;
  if (fits(body)) return body;
  const auto starts = turn_starts(*input);
  if (starts.size() < 2) return body;
  std::size_t least = 1, most = starts.size() - 1;  // turns to leave out
  while (least < most) {
    const std::size_t middle = (least + most) / 2;
    if (fits(without_items_before(body, starts[middle]))) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return without_items_before(body, starts[least]);
}

}  // namespace hearth::services
