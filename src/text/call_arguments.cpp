#include "text/call_arguments.h"

#include <fmt/format.h>

namespace hearth::text {
namespace {

/// The schema of the arguments: always an object's.
Json object_schema(const CallableTool& tool) {
  if (!tool.held) return {{"type", "object"}};
  if (tool.parameters.is_null()) return {{"type", "object"}, {"additionalProperties", false}};
  Json schema = tool.parameters;
  if (schema == true) schema = Json::object();
  if (schema.is_object() && !schema.contains("type")) schema["type"] = "object";
  return schema;
}

tl::unexpected<Error> at_tool(Error error, const CallableTool& tool) {
  error.message = fmt::format("tool \"{}\": {}", tool.name, error.message);
  error.param = tool.param + error.param;
  return fail(std::move(error));
}

}  // namespace

Result<std::string> argument_rules(const LarkWriter& lark, const Dialect& dialect,
                                   const CallableTool& tool, const std::string& name) {
  const Json schema = object_schema(tool);
  if (dialect.form == ArgumentForm::json) {
    auto json = lark.json(schema, true);
    if (!json) return at_tool(json.error(), tool);
    return fmt::format("{}: {}\n", name, *json);
  }
  return fail(ErrorCode::unsupported,
              fmt::format("calls in the form of {} cannot be forced yet", dialect.name), "tools");
}

}  // namespace hearth::text
