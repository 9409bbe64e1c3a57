#include "services/chat/fields.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace hearth::services {
namespace {

constexpr std::size_t longest_shown = 80;

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > longest_shown) text = text.substr(0, longest_shown) + "...";
  return text;
}

std::string number_range(std::string_view kind, double least, double most) {
  if (std::isinf(least) && std::isinf(most)) return fmt::format("{}", kind);
  if (std::isinf(most)) return fmt::format("{} of at least {}", kind, least);
  return fmt::format("{} from {} to {}", kind, least, most);
}

}  // namespace

const Json* field(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Error wrong_value(std::string_view name, const Json& value, std::string_view expected) {
  return {ErrorCode::invalid_request,
          fmt::format("`{}` is {}, expected {}", name, shown(value), expected), std::string(name)};
}

Result<std::optional<bool>> read_bool(const Json& body, std::string_view name) {
  const Json* value = field(body, name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) return fail(wrong_value(name, *value, "true or false"));
  return value->get<bool>();
}

Result<std::optional<std::string>> read_string(const Json& body, std::string_view name) {
  const Json* value = field(body, name);
  if (!value) return std::nullopt;
  if (!value->is_string()) return fail(wrong_value(name, *value, "a string"));
  return value->get<std::string>();
}

Result<std::optional<double>> read_number(const Json& body, std::string_view name, double least,
                                          double most) {
  const Json* value = field(body, name);
  if (!value) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : NAN;
  const bool finite = std::abs(number) <= std::numeric_limits<float>::max();
  if (!finite || number < least || number > most) {
    return fail(wrong_value(name, *value, number_range("a number", least, most)));
  }
  return number;
}

Result<std::optional<std::int64_t>> read_integer(const Json& body, std::string_view name,
                                                 std::int64_t least, std::int64_t most) {
  const Json* value = field(body, name);
  if (!value) return std::nullopt;
  constexpr double exact = 9007199254740992.0;  // 2^53
  std::optional<std::int64_t> number;
  if (value->is_number_unsigned()) {
    const auto n = value->get<std::uint64_t>();
    if (n <= std::uint64_t(std::numeric_limits<std::int64_t>::max())) number = std::int64_t(n);
  } else if (value->is_number_integer()) {
    number = value->get<std::int64_t>();
  } else if (value->is_number_float()) {
    const double n = value->get<double>();
    if (std::abs(n) <= exact && std::trunc(n) == n) number = std::int64_t(n);
  }
  if (!number || *number < least || *number > most) {
    return fail(wrong_value(name, *value, fmt::format("an integer from {} to {}", least, most)));
  }
  return number;
}

}  // namespace hearth::services
