#include "server/openapi.h"

#include <fmt/format.h>

#include <cmath>

#include "base/ascii.h"
#include "server/handlers.h"
#include "server/page_files.h"
#include "services/chat/options.h"

namespace hearth::server {
namespace {

Json reference(const std::string& schema) { return {{"$ref", "#/components/schemas/" + schema}}; }

template <class T>
Json schema_of(const services::Option<T>& option) {
  Json schema{{"type", Json::array({std::is_same_v<T, int> ? "integer" : "number", "null"})},
              {"description", option.help},
              {"minimum", option.least}};
  if (std::is_same_v<T, int>) schema["minimum"] = std::int64_t(option.least);
  if (std::isfinite(option.most)) {
    schema["maximum"] =
        std::is_same_v<T, int> ? Json(std::int64_t(option.most)) : Json(option.most);
  }
  return schema;
}

/// Replaces the mark "sampling" of a schema by the sampling fields.
Json with_sampling_fields(Json schema) {
  if (!schema.contains("sampling")) return schema;
  schema.erase("sampling");
  std::apply(
      [&](const auto&... option) {
        ((schema["properties"][std::string(option.name)] = schema_of(option)), ...);
      },
      services::sampling_options);
  schema["properties"]["seed"] = {{"type", Json::array({"integer", "null"})}};
  return schema;
}

Json replies(const Json& about) {
  Json content = Json::object();
  if (about.contains("text")) {
    content[about["text"].get<std::string>()] = {{"schema", {{"type", "string"}}}};
  } else if (about.contains("reply")) {
    content["application/json"] = {{"schema", reference(about["reply"])}};
  }
  if (about.contains("stream")) {
    content[about["stream"].get<std::string>()] = {{"schema", reference("StreamItem")}};
  }
  const Json error{{"description", "What was wrong"},
                   {"content", {{"application/json", {{"schema", reference("Error")}}}}}};
  Json answer{{"description", "The answer"}, {"content", content}};
  if (about.contains("stream")) {
    const std::string what = "As `hearth` in answers, of those that are not streamed";
    answer["headers"]["X-Hearth-Timings"] = {{"description", what},
                                             {"schema", {{"type", "string"}}}};
  }
  return {{"200", std::move(answer)}, {"default", error}};
}

Json operation(const Route& route, const Json& about) {
  Json out{{"summary", about.value("summary", "")},
           {"operationId", fmt::format("{} {}", route.method, route.path)},
           {"tags", Json::array({about.value("tag", "")})}};
  if (about.contains("parameter")) {
    out["parameters"] = Json::array({{{"name", about["parameter"]},
                                      {"in", "path"},
                                      {"required", true},
                                      {"schema", {{"type", "string"}, {"minLength", 1}}}}});
  }
  if (about.contains("body")) {
    out["requestBody"] = {
        {"required", true},
        {"content", {{"application/json", {{"schema", reference(about["body"])}}}}}};
  }
  out["responses"] = replies(about);
  if (route.access == Access::key)
    out["security"] = Json::array({{{"key", Json::array()}}, Json::object()});
  return out;
}

}  // namespace

const Json& route_descriptions() {
  static const Json descriptions = Json::parse(openapi_text);
  return descriptions;
}

Json openapi_document(std::span<const Route> routes) {
  const Json& known = route_descriptions();
  Json paths = Json::object();
  for (const Route& route : routes) {
    const std::string name = fmt::format("{} {}", route.method, route.path);
    const Json about = known["routes"].value(name, Json::object());
    std::string path(route.path);
    if (path.ends_with("/*")) {
      path = fmt::format("{}/{{{}}}", path.substr(0, path.size() - 2),
                         about.value("parameter", "rest"));
    }
    paths[path][ascii_lower(route.method)] = operation(route, about);
  }
  Json schemas = Json::object();
  for (const auto& [name, schema] : known["schemas"].items()) {
    schemas[name] = with_sampling_fields(schema);
  }
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "hearth"}, {"version", HEARTH_VERSION}}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", std::move(schemas)},
            {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

Handled openapi(Context&, Connection& connection, const Route&) {
  co_await connection.reply(json_reply(200, openapi_document(routes())));
}

}  // namespace hearth::server
