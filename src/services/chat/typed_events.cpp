#include "services/chat/typed_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "services/chat/openai_common.h"

namespace hearth::services {

std::string new_id(std::string_view prefix) {
  std::string digits = new_uuid();
  std::erase(digits, '-');
  return fmt::format("{}{}", prefix, digits.substr(0, 24));
}

std::string sse_event(const Json& event) {
  return fmt::format("event: {}\ndata: {}\n\n", event["type"].get_ref<const std::string&>(),
                     dump(event));
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

}  // namespace hearth::services
