#include "cli/option.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

namespace hearth::cli {
namespace {

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> out;
  while (!names.empty()) {
    const auto comma = names.find(',');
    out.emplace_back(names.substr(0, comma));
    names.remove_prefix(comma == names.npos ? names.size() : comma + 1);
  }
  return out;
}

Option row(std::string_view names, std::string value, std::string help,
           std::function<Result<void>(std::string_view)> set) {
  return {.names = split_names(names),
          .value = std::move(value),
          .help = std::move(help),
          .set = std::move(set)};
}

tl::unexpected<Error> expected(std::string what) { return fail(ErrorCode::usage, std::move(what)); }

/// A finite number in plain decimal notation.
std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !std::isfinite(value)) return std::nullopt;
  return value;
}

template <class Field>
Option whole_row(std::string_view names, std::string value, Field* field, int low, int high,
                 std::string help) {
  return row(names, std::move(value), std::move(help), [=](std::string_view text) -> Result<void> {
    const auto number = parse_number(text);
    if (!number || *number != std::floor(*number) || *number < low || *number > high) {
      return expected(fmt::format("a whole number from {} to {}", low, high));
    }
    *field = static_cast<int>(*number);
    return {};
  });
}

template <class Field>
Option text_row(std::string_view names, std::string value, Field* field, std::string help) {
  return row(names, std::move(value), std::move(help), [=](std::string_view text) -> Result<void> {
    *field = std::string(text);
    return {};
  });
}

}  // namespace

Option Option::with_default(std::string_view words) && {
  fallback.assign(words);
  return std::move(*this);
}

const std::string& Option::name() const {
  for (const auto& name : names) {
    if (name.starts_with("--")) return name;
  }
  return names.front();
}

std::string Option::key() const { return name().substr(name().find_first_not_of('-')); }

Option& OptionTable::add(Option option) {
  if (sections_.empty()) section("Options");
  return sections_.back().options.emplace_back(std::move(option));
}

std::vector<const Option*> OptionTable::options() const {
  std::vector<const Option*> out;
  for (const auto& section : sections_) {
    for (const auto& option : section.options) out.push_back(&option);
  }
  return out;
}

const Option* OptionTable::find(std::string_view name) const {
  for (const Option* option : options()) {
    for (const auto& known : option->names) {
      if (known == name) return option;
    }
  }
  return nullptr;
}

std::vector<std::string> OptionTable::names() const {
  std::vector<std::string> out;
  for (const Option* option : options()) {
    if (option->hidden) continue;
    for (const auto& name : option->names) {
      if (name.starts_with("--")) out.push_back(name);
    }
  }
  return out;
}

Option text(std::string_view names, std::string value, std::string* field, std::string help) {
  return text_row(names, std::move(value), field, std::move(help));
}

Option text(std::string_view names, std::string value, std::optional<std::string>* field,
            std::string help) {
  return text_row(names, std::move(value), field, std::move(help));
}

Option texts(std::string_view names, std::string value, std::vector<std::string>* field,
             std::string help) {
  Option option =
      row(names, std::move(value), std::move(help), [field](std::string_view text) -> Result<void> {
        field->emplace_back(text);
        return {};
      });
  option.repeatable = true;
  return option;
}

Option whole(std::string_view names, std::string value, int* field, int low, int high,
             std::string help) {
  return whole_row(names, std::move(value), field, low, high, std::move(help));
}

Option whole(std::string_view names, std::string value, std::optional<int>* field, int low,
             int high, std::string help) {
  return whole_row(names, std::move(value), field, low, high, std::move(help));
}

Option real(std::string_view names, std::string value, std::optional<float>* field, float low,
            float high, std::string help) {
  return row(names, std::move(value), std::move(help), [=](std::string_view text) -> Result<void> {
    const auto number = parse_number(text);
    if (!number || *number < low || *number > high) {
      return expected(fmt::format("a number from {} to {}", low, high));
    }
    *field = static_cast<float>(*number);
    return {};
  });
}

Option choice(std::string_view names, std::string value, std::string* field,
              std::vector<std::string> choices, std::string help) {
  Option option = row(names, std::move(value), std::move(help),
                      [field, choices](std::string_view text) -> Result<void> {
                        for (const auto& known : choices) {
                          if (known != text) continue;
                          *field = known;
                          return {};
                        }
                        return expected(fmt::format("one of {}", fmt::join(choices, ", ")));
                      });
  option.choices = std::move(choices);
  return option;
}

Option flag(std::string_view names, bool* field, std::string help) {
  return row(names, "", std::move(help), [field](std::string_view text) -> Result<void> {
    const auto value = parse_on_off(text);
    if (!value) return expected("nothing, on or off");
    *field = *value;
    return {};
  });
}

Option on_off(std::string_view names, std::optional<bool>* field, std::string help) {
  Option option =
      row(names, "on|off", std::move(help), [field](std::string_view text) -> Result<void> {
        const auto value = parse_on_off(text);
        if (!value) return expected("one of on, off, 1, 0, true, false");
        *field = *value;
        return {};
      });
  option.choices = {"on", "off"};
  return option;
}

Option refused(std::string_view names, std::string message) {
  Option option =
      row(names, "", "", [message = std::move(message)](std::string_view) -> Result<void> {
        return fail(ErrorCode::usage, message, "refused");
      });
  option.hidden = true;
  option.in_config = false;
  return option;
}

Option tolerated(std::string_view names, std::string value) {
  Option option =
      row(names, std::move(value), "", [](std::string_view) -> Result<void> { return {}; });
  option.hidden = option.no_effect = true;
  option.in_config = false;
  return option;
}

std::optional<bool> parse_on_off(std::string_view text) {
  for (const std::string_view on : {"on", "1", "true"}) {
    if (text == on) return true;
  }
  for (const std::string_view off : {"off", "0", "false"}) {
    if (text == off) return false;
  }
  return std::nullopt;
}

}  // namespace hearth::cli
