#include "text/dialect/json_calls.h"

#include <utility>

#include "text/dialect/lenient_json.h"
#include "text/dialect/reader.h"

namespace hearth::text {
namespace {

constexpr std::string_view name_keys[] = {"name", "tool_name", "function"};
constexpr std::string_view argument_keys[] = {"arguments", "parameters", "args"};

std::string_view without_namespace(std::string_view name) {
  constexpr std::string_view space = "functions.";
  return name.starts_with(space) ? name.substr(space.size()) : name;
}

/// Name of a call; with repair also the only key of {"name": {...}} and one among the arguments.
std::optional<std::string> name_of(Json& call, const ToolSet& tools, bool repair) {
  const auto known = [&](const Json& name) -> std::optional<std::string> {
    if (!name.is_string()) return std::nullopt;
    const auto& text = name.get_ref<const std::string&>();
    if (tools.contains(text)) return text;
    const auto bare = without_namespace(text);
    return tools.contains(bare) ? std::optional(std::string(bare)) : std::nullopt;
  };
  for (const auto key : name_keys) {
    if (call.contains(key)) {
      if (auto name = known(call[key])) return name;
    }
  }
  if (!repair) return std::nullopt;
  for (const auto key : argument_keys) {
    if (!call.contains(key) || !call[key].is_object() || !call[key].contains("name")) continue;
    auto name = known(call[key]["name"]);
    if (name && !call.contains("name")) {
      call[key].erase("name");
      return name;
    }
  }
  if (call.size() == 1 && call.front().is_object() && tools.contains(call.begin().key())) {
    std::string name = call.begin().key();
    Json arguments = call.front();
    call = Json{{"arguments", std::move(arguments)}};
    return name;
  }
  return std::nullopt;
}

/// @param source  the call's text where it is sound JSON: its arguments are told as they stand
std::optional<ParsedCall> call_of(Json call, std::string_view source, const ToolSet& tools,
                                  Repair repair) {
  if (!call.is_object()) return std::nullopt;
  if (const auto inner = call.find("function"); inner != call.end() && inner->is_object()) {
    const auto text = source.empty() ? source : member_text(source, "function");
    Json function = *inner;
    return call_of(std::move(function), text, tools, repair);
  }
  const Json before = call;
  auto name = name_of(call, tools, repair != Repair::none);
  if (!name) return std::nullopt;
  ParsedCall out{.name = std::move(*name), .arguments = "{}"};
  if (const auto id = call.find("id"); id != call.end() && id->is_string()) out.id = *id;
  for (const auto key : argument_keys) {
    const auto found = call.find(key);
    if (found == call.end() || found->is_null()) continue;
    if (found->is_object()) {
      const bool as_it_stands = !source.empty() && call == before;
      out.arguments = as_it_stands ? std::string(member_text(source, key)) : found->dump();
      return out;
    }
    if (!found->is_string()) return std::nullopt;
    if (found->get_ref<const std::string&>().empty()) return out;
    auto arguments = read_json_arguments(found->get_ref<const std::string&>(), repair);
    if (!arguments) return std::nullopt;
    out.arguments = std::move(*arguments);
    return out;
  }
  return out;
}

bool add_calls(const Json& value, std::string_view source, const ToolSet& tools, Repair repair,
               std::vector<ParsedCall>& calls) {
  const bool list = value.is_array();
  if (list && value.empty()) return false;
  for (const Json& one : list ? value : Json::array({value})) {
    // Of a list only single elements could be told as they stand: they are written anew.
    auto call = call_of(one, list ? std::string_view() : source, tools, repair);
    if (!call) return false;
    calls.push_back(std::move(*call));
  }
  return true;
}

std::optional<std::vector<ParsedCall>> strict_calls(std::string_view body, const ToolSet& tools) {
  std::vector<ParsedCall> calls;
  for (body = trimmed(body); !body.empty(); body = trimmed(body)) {
    const auto size = json_end(body).size;
    if ((body[0] != '{' && body[0] != '[') || size == body.npos) return std::nullopt;
    const auto source = body.substr(0, size);
    const auto value = parse_json(source);
    if (!value || !add_calls(*value, source, tools, Repair::none, calls)) return std::nullopt;
    body.remove_prefix(size);
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

/// What may follow a call that had to be mended.
bool only_litter(std::string_view rest) {
  return rest.find_first_not_of(" \t\r\n`}]") == rest.npos;
}

std::optional<std::vector<ParsedCall>> mended_calls(std::string_view body, const ToolSet& tools,
                                                    Repair repair) {
  std::vector<ParsedCall> calls;
  body.remove_prefix(std::min(body.find_first_of("{["), body.size()));
  while (!body.empty()) {
    LenientJson reader(body);
    const auto value = reader.value();
    if (!value || !add_calls(*value, {}, tools, repair, calls)) return std::nullopt;
    body = trimmed(body.substr(reader.at()));
    if (only_litter(body)) break;
    if (body[0] != '{' && body[0] != '[') return std::nullopt;
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

/// `body` without what its end has of the closing.
std::string_view without_cut_closing(std::string_view body, std::string_view closing) {
  for (std::size_t n = std::min(closing.size() - 1, body.size()); n > 0; --n) {
    if (body.ends_with(closing.substr(0, n))) return body.substr(0, body.size() - n);
  }
  return body;
}

/// What is left at the end of the answer, its closing missing.
Scan scan_unclosed(std::string_view text, std::size_t start, std::string_view closing,
                   const ToolSet& tools, Ending ending) {
  const auto body = without_cut_closing(text.substr(start), closing);
  const auto repair = ending == Ending::ended ? Repair::cut : Repair::none;
  auto read = read_json_calls(body, tools, repair);
  if (read.kind != Body::Kind::calls) return broken_scan();
  return {Scan::Kind::calls, text.size(), std::move(read.calls)};
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const auto first = text.find_first_not_of(spaces);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

Body read_json_calls(std::string_view body, const ToolSet& tools, Repair repair) {
  if (auto calls = strict_calls(body, tools)) return {Body::Kind::calls, std::move(*calls)};
  const auto start = std::min(body.find_first_of("{["), body.size());
  const bool open = json_end(body.substr(start)).in_string;
  if (repair == Repair::none || (open && repair == Repair::whole)) {
    return {open ? Body::Kind::open : Body::Kind::broken, {}};
  }
  if (auto calls = mended_calls(body, tools, repair)) return {Body::Kind::calls, std::move(*calls)};
  return {open ? Body::Kind::open : Body::Kind::broken, {}};
}

std::optional<std::string> read_json_arguments(std::string_view text, Repair repair) {
  text = trimmed(text);
  if (text.empty()) return "{}";
  if (const auto sound = parse_json(text)) {
    return sound->is_object() ? std::optional(std::string(text)) : std::nullopt;
  }
  if (repair == Repair::none) return std::nullopt;
  text.remove_prefix(std::min(text.find('{'), text.size()));
  LenientJson reader(text);
  const auto mended = reader.value();
  if (!mended || !mended->is_object() || !only_litter(text.substr(reader.at()))) {
    return std::nullopt;
  }
  return mended->dump();
}

Scan scan_json_block(std::string_view text, std::string_view opening, std::string_view closing,
                     const ToolSet& tools, Ending ending) {
  const auto start = opening.size();
  const auto first = text.find(closing, start);
  for (auto at = first; at != text.npos; at = text.find(closing, at + 1)) {
    auto read = read_json_calls(text.substr(start, at - start), tools, Repair::whole);
    if (read.kind == Body::Kind::broken) return broken_scan();
    if (read.kind == Body::Kind::calls) {
      return {Scan::Kind::calls, at + closing.size(), std::move(read.calls)};
    }
  }
  if (ending == Ending::open) return {};
  if (first == text.npos) return scan_unclosed(text, start, closing, tools, ending);
  auto read = read_json_calls(text.substr(start, first - start), tools, Repair::cut);
  if (read.kind != Body::Kind::calls) return broken_scan();
  return {Scan::Kind::calls, first + closing.size(), std::move(read.calls)};
}

Scan scan_json_value(std::string_view text, std::string_view opening, const ToolSet& tools,
                     Ending ending) {
  Reader reader(text);
  reader.skip(opening.size());
  reader.skip_space();
  if (reader.done()) return unsettled_scan(ending);
  const auto value = reader.rest();
  if (value[0] != '{' && value[0] != '[') return broken_scan();
  const auto end = json_end(value);
  if (end.size == value.npos) {
    if (ending != Ending::ended) return unsettled_scan(ending);
    auto read = read_json_calls(value, tools, Repair::cut);
    if (read.kind != Body::Kind::calls) return broken_scan();
    return {Scan::Kind::calls, text.size(), std::move(read.calls)};
  }
  auto read = read_json_calls(value.substr(0, end.size), tools, Repair::whole);
  if (read.kind != Body::Kind::calls) return broken_scan();
  return {Scan::Kind::calls, reader.at() + end.size, std::move(read.calls)};
}

Scan scan_json_arguments(std::string_view text, std::size_t at, ParsedCall call, Ending ending) {
  Reader reader(text);
  reader.skip(at);
  reader.skip_space();
  if (reader.done()) return unsettled_scan(ending);
  const auto value = reader.rest();
  if (value[0] != '{') return broken_scan();
  const auto size = json_end(value).size;
  if (size == value.npos && ending != Ending::ended) return unsettled_scan(ending);
  const auto object = value.substr(0, size);
  auto arguments = read_json_arguments(object, size == value.npos ? Repair::cut : Repair::whole);
  if (!arguments) return broken_scan();
  call.arguments = std::move(*arguments);
  return {Scan::Kind::calls, reader.at() + object.size(), {std::move(call)}};
}

}  // namespace hearth::text
