#include "server/model_name.h"

#include <fmt/format.h>

#include "services/chat/fields.h"

namespace hearth::server {
namespace {

bool is_name(const Context& context, std::string_view name) {
  const auto& model = *context.model;
  return name == context.model_name || name == model.id || name == "local" ||
         (!name.empty() && name == model.path.filename().string());
}

}  // namespace

bool names_served_model(const Context& context, std::string_view name) {
  constexpr std::string_view tag = ":latest";
  if (is_name(context, name)) return true;
  return name.ends_with(tag) && is_name(context, name.substr(0, name.size() - tag.size()));
}

Result<void> check_model_name(const Context& context, const Json& body) {
  const Json* name = services::field(body, "model");
  if (!name || !name->is_string() || context.options.any_model) return {};
  const auto& asked = name->get_ref<const std::string&>();
  if (!names_served_model(context, asked)) return fail(unknown_model(context, asked));
  return {};
}

Error unknown_model(const Context& context, std::string_view name) {
  return {ErrorCode::not_found,
          fmt::format("model \"{}\" not found; this server has \"{}\" (hearth serve --any-model "
                      "takes every name for it)",
                      name, context.model_name),
          "model"};
}

}  // namespace hearth::server
