#include "services/chat/constraint_fields.h"

#include <fmt/format.h>

#include "services/chat/fields.h"

namespace hearth::services {
namespace {

using Kind = Constraint::Kind;
using Read = Result<std::optional<Constraint>>;

/// A field's error, told of the whole path.
tl::unexpected<Error> within(Error error, const std::string& path) {
  error.param = fmt::format("{}.{}", path, error.param);
  return fail(std::move(error));
}

Result<Constraint> bare_schema(const Json& schema, const std::string& field) {
  if (!schema.is_object() && !schema.is_boolean()) {
    auto error = wrong_value(field, schema, "a JSON schema: an object or a boolean");
    error.code = ErrorCode::invalid_schema;
    return fail(std::move(error));
  }
  return Constraint{.kind = Kind::json_schema, .schema = schema, .param = field};
}

Read response_format(const Json& body) {
  const Json* format = field(body, "response_format");
  if (!format) return std::nullopt;
  const Json* type = format->is_object() ? field(*format, "type") : nullptr;
  if (type && *type == "text") return std::nullopt;
  if (type && *type == "json_object")
    return Constraint{.kind = Kind::json_object, .param = "response_format"};
  if (!type || *type != "json_schema") {
    return fail(wrong_value("response_format", *format,
                            "an object of type \"text\", \"json_object\" or \"json_schema\""));
  }
  const Json* schema = field(*format, "json_schema");
  if (!schema || !schema->is_object()) {
    return fail(wrong_value("response_format.json_schema", schema ? *schema : Json(),
                            "an object with `name` and `schema`"));
  }
  auto read = schema_constraint(*schema, "response_format.json_schema");
  if (!read) return fail(read.error());
  return std::move(*read);
}

Read text_field(const Json& body, const char* name, Kind kind) {
  auto text = read_string(body, name);
  if (!text) return fail(text.error());
  if (!*text) return std::nullopt;
  if ((*text)->empty()) return fail(wrong_value(name, "", "a string that is not empty"));
  return Constraint{.kind = kind, .text = std::move(**text), .param = name};
}

Read guided_grammar(const Json& body) { return text_field(body, "guided_grammar", Kind::grammar); }
Read guided_regex(const Json& body) { return text_field(body, "guided_regex", Kind::regex); }

/// A bare schema, or an object with one of json, regex, choice, grammar, as other servers have it.
Read structured_outputs(const Json& body) {
  for (const char* name : {"structured_outputs", "guided_json"}) {
    const Json* sent = field(body, name);
    if (!sent) continue;
    Json schema = *sent;
    if (schema.is_string()) {
      schema = Json::parse(schema.get_ref<const std::string&>(), nullptr, false);
      if (schema.is_discarded()) return fail(wrong_value(name, *sent, "a JSON schema"));
    }
    auto read = bare_schema(schema, name);
    if (!read) return fail(read.error());
    return std::move(*read);
  }
  return std::nullopt;
}

Read guided_choice(const Json& body) {
  const Json* sent = field(body, "guided_choice");
  if (!sent) return std::nullopt;
  constexpr std::string_view expected = "an array of strings that are not empty";
  Constraint read{.kind = Kind::choice, .param = "guided_choice"};
  if (!sent->is_array() || sent->empty())
    return fail(wrong_value("guided_choice", *sent, expected));
  for (const Json& choice : *sent) {
    if (!choice.is_string() || choice == "")
      return fail(wrong_value("guided_choice", *sent, expected));
    read.choices.push_back(choice);
  }
  return read;
}

}  // namespace

Result<Constraint> schema_constraint(const Json& object, const std::string& path) {
  const Json* schema = field(object, "schema");
  auto read = bare_schema(schema ? *schema : Json(), path + ".schema");
  if (!read) return read;
  for (const auto& [name, flag] : {std::pair{"strict", &Constraint::strict},
                                   {"any_whitespace", &Constraint::any_whitespace}}) {
    auto sent = read_bool(object, name);
    if (!sent) return within(sent.error(), path);
    if (*sent) (*read).*flag = **sent;
  }
  return read;
}

Read read_constraint(const Json& body) {
  for (const auto read :
       {guided_grammar, response_format, structured_outputs, guided_regex, guided_choice}) {
    auto found = read(body);
    if (!found || *found) return found;
  }
  return std::nullopt;
}

}  // namespace hearth::services
