#include "text/dialect/python_calls.h"

#include <optional>
#include <string>
#include <utility>

#include "text/dialect/json_calls.h"
#include "text/dialect/lenient_json.h"

namespace hearth::text {
namespace {

std::optional<Json> take_arguments(LenientJson& reader) {
  Json arguments = Json::object();
  if (!reader.take('(')) return std::nullopt;
  while (!reader.take(')')) {
    const std::string key(reader.word());
    if (key.empty() || !reader.take('=')) return std::nullopt;
    auto value = reader.value();
    if (!value || reader.done()) return std::nullopt;
    arguments[key] = std::move(*value);
    if (reader.take(',')) continue;
    if (!reader.take(')')) return std::nullopt;
    break;
  }
  return arguments;
}

std::optional<ParsedCall> take_call(LenientJson& reader, const ToolSet& tools) {
  std::string name(reader.word());
  constexpr std::string_view method = ".call";
  if (!tools.contains(name) && name.ends_with(method)) name.resize(name.size() - method.size());
  if (!tools.contains(name)) return std::nullopt;
  auto arguments = take_arguments(reader);
  if (!arguments) return std::nullopt;
  return ParsedCall{.name = std::move(name), .arguments = arguments->dump()};
}

/// A reader that met the end of the text may yet find what it looked for.
Scan stuck(LenientJson& reader, Ending ending) {
  return reader.ran_out() || reader.done() ? unsettled_scan(ending) : broken_scan();
}

}  // namespace

Scan scan_python_list(std::string_view text, std::size_t start, const ToolSet& tools,
                      Ending ending) {
  LenientJson reader(text.substr(start));
  if (!reader.take('[')) return stuck(reader, ending);
  std::vector<ParsedCall> calls;
  do {
    auto call = take_call(reader, tools);
    if (!call) return stuck(reader, ending);
    calls.push_back(std::move(*call));
  } while (reader.take(','));
  if (!reader.take(']')) return stuck(reader, ending);
  return {Scan::Kind::calls, start + reader.at(), std::move(calls)};
}

Scan scan_python_call(std::string_view text, std::size_t start, const ToolSet& tools,
                      Ending ending) {
  LenientJson reader(text.substr(start));
  auto call = take_call(reader, tools);
  if (!call) return stuck(reader, ending);
  return {Scan::Kind::calls, start + reader.at(), {std::move(*call)}};
}

}  // namespace hearth::text
