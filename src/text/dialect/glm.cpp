// GLM-4.5 and later:
// <tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>.
// Source: the chat template of zai-org/GLM-4.5.
#include <string>
#include <utility>

#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"
#include "text/dialect/reader.h"

namespace hearth::text {
namespace {

constexpr std::string_view open = "<tool_call>", close = "</tool_call>", key_open = "<arg_key>",
                           key_close = "</arg_key>", value_open = "<arg_value>",
                           value_close = "</arg_value>";

/// The name stands before the first argument, or before the end.
std::string_view take_name(Reader& reader) {
  const auto name = reader.rest().substr(0, reader.rest().find('<'));
  reader.skip(name.size());
  return trimmed(name);
}

bool take_argument(Reader& reader, const ToolSet& tools, const std::string& tool, Json& arguments) {
  const auto key = reader.take_until(key_close);
  if (!key || trimmed(*key).empty()) return false;
  reader.skip_space();
  if (!reader.take(value_open)) return false;
  const auto value = reader.take_until(value_close);
  if (!value) return false;
  const auto name = trimmed(*key);
  arguments[std::string(name)] = tools.value(tool, name, *value);
  return true;
}

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  reader.skip(open.size());
  ParsedCall call{.name = std::string(take_name(reader))};
  if (reader.done() && ending == Ending::open) {
    return may_be_name(text.substr(open.size())) ? Scan{} : broken_scan();
  }
  if (!tools.contains(call.name)) return broken_scan();
  Json arguments = Json::object();
  bool closed = false;
  while (!closed) {
    reader.skip_space();
    const auto rest = reader.rest();
    closed = reader.take(close) || (ending == Ending::ended && close.starts_with(rest));
    if (closed) break;
    if (!reader.take(key_open) || !take_argument(reader, tools, call.name, arguments)) {
      return reader.ran_out() ? unsettled_scan(ending) : broken_scan();
    }
  }
  if (ending == Ending::ended && !text.substr(0, reader.at()).ends_with(close)) {
    reader.skip(reader.rest().size());
  }
  call.arguments = arguments.dump();
  return {Scan::Kind::calls, reader.at(), {std::move(call)}};
}

}  // namespace

const Dialect glm{
    .name = "glm",
    .signs = {{"<arg_key>", "<arg_value>"}},
    .openings = {open},
    .closings = {close},
    .markers = {open, close, key_open, key_close, value_open, value_close},
    .form = ArgumentForm::parameters,
    .call = {.before_name = open, .after_name = "\n", .after_call = close, .between = "\n"},
    .parameter = {.before_key = key_open,
                  .after_key = "</arg_key>\n<arg_value>",
                  .after_value = "</arg_value>\n"},
    .scan = scan,
};

}  // namespace hearth::text
