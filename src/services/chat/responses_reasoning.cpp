#include "services/chat/responses_reasoning.h"

#include "services/chat/base64.h"
#include "services/chat/fields.h"

namespace hearth::services {
namespace {

constexpr std::string_view seal = "hearth1:";

std::string texts_of(const Json* parts) {
  std::string text;
  if (!parts || !parts->is_array()) return text;
  for (const Json& part : *parts) {
    const Json* more = part.is_object() ? field(part, "text") : nullptr;
    if (!more || !more->is_string()) continue;
    if (!text.empty()) text += "\n\n";
    text += more->get_ref<const std::string&>();
  }
  return text;
}

}  // namespace

std::string sealed_reasoning(std::string_view text) {
  std::string sealed(seal);
  return base64_encode(sealed.append(text));
}

std::string reasoning_text(const Json& item) {
  std::string text = texts_of(field(item, "content"));
  if (!text.empty()) return text;
  const Json* sealed = field(item, "encrypted_content");
  if (sealed && sealed->is_string()) {
    const auto opened = base64_decode(sealed->get_ref<const std::string&>());
    if (opened && opened->starts_with(seal)) return opened->substr(seal.size());
  }
  return texts_of(field(item, "summary"));
}

}  // namespace hearth::services
