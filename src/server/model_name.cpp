#include "server/model_name.h"

#include <fmt/format.h>

#include "server/context.h"
#include "services/chat/fields.h"

namespace hearth::server {
namespace {

constexpr std::size_t named_in_errors = 20;

/// What there is instead.
std::string there_is(const Context& context) {
  std::string list;
  const auto listed = context.pool.listed();
  for (std::size_t i = 0; i < listed.size() && i < named_in_errors; ++i) {
    list += fmt::format("{}\"{}\"", i > 0 ? ", " : "", context.pool.models()[listed[i]].id);
  }
  if (listed.size() > named_in_errors) list += ", ...";
  return list;
}

}  // namespace

Result<std::size_t> model_named(const Context& context, std::string_view name) {
  if (const auto found = services::find_model(context.pool.models(), name)) return *found;
  return fail(ErrorCode::not_found,
              fmt::format("model \"{}\" not found; this server has {} (hearth serve --any-model "
                          "takes every name for the first)",
                          name, there_is(context)),
              "model");
}

bool names_a_model(const Json& body) {
  const Json* name = services::field(body, "model");
  return name && name->is_string();
}

Result<std::size_t> model_asked_for(const Context& context, const Json& body) {
  const Json* name = services::field(body, "model");
  if (!name || !name->is_string()) return 0;
  auto found = model_named(context, name->get_ref<const std::string&>());
  if (!found && context.options.any_model) return 0;
  return found;
}

}  // namespace hearth::server
