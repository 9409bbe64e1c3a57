#include "services/chat/effort.h"

#include <fmt/format.h>

#include <string>

#include "services/chat/fields.h"

namespace hearth::services {

Result<void> apply_effort(const Json* effort, std::string_view name,
                          std::span<const EffortLevel> levels, Json& kwargs) {
  if (!effort || effort->is_null()) return {};
  std::string known;
  for (const auto& [word, depth] : levels) {
    if (*effort == word) {
      const bool on = word != "none";
      if (!kwargs.contains("enable_thinking")) kwargs["enable_thinking"] = on;
      if (on && !kwargs.contains("reasoning_effort")) kwargs["reasoning_effort"] = depth;
      return {};
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  return fail(wrong_value(name, *effort, fmt::format("one of {}", known)));
}

Result<Json> read_template_kwargs(const Json& body) {
  Json kwargs = Json::object();
  if (const Json* sent = field(body, "chat_template_kwargs")) {
    if (!sent->is_object()) return fail(wrong_value("chat_template_kwargs", *sent, "an object"));
    kwargs = *sent;
  }
  for (const char* name : {"enable_thinking", "preserve_thinking"}) {
    if (auto flag = read_bool(kwargs, name); !flag) {
      flag.error().param = fmt::format("chat_template_kwargs.{}", name);
      return fail(flag.error());
    }
  }
  return kwargs;
}

}  // namespace hearth::services
