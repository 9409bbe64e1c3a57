#include "text/dialect/xml_calls.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "text/dialect/json_calls.h"
#include "text/dialect/reader.h"

namespace hearth::text {
namespace {

constexpr std::string_view cdata_open = "<![CDATA[", cdata_close = "]]>";

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> entities{{
    {"&lt;", "<"},
    {"&gt;", ">"},
    {"&quot;", "\""},
    {"&apos;", "'"},
    {"&amp;", "&"},
}};

std::string without_entities(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t taken = 1;
    std::string_view meaning = text.substr(0, 1);
    for (const auto& [entity, character] : entities) {
      if (!text.starts_with(entity)) continue;
      taken = entity.size();
      meaning = character;
    }
    out += meaning;
    text.remove_prefix(taken);
  }
  return out;
}

/// A value up to `close`, which does not count inside CDATA.
std::optional<std::string> take_cdata_value(Reader& reader, std::string_view close) {
  std::string value;
  for (;;) {
    const auto rest = reader.rest();
    const auto end = rest.find(close), open = rest.find(cdata_open);
    if (open < end) {
      value += without_entities(*reader.take_until(cdata_open));
      const auto verbatim = reader.take_until(cdata_close);
      if (!verbatim) return std::nullopt;
      value += *verbatim;
      continue;
    }
    const auto text = reader.take_until(close);
    if (!text) return std::nullopt;
    return value + without_entities(*text);
  }
}

/// A name, and the rest of the tag it stands in.
struct Tag {
  std::string_view name, attributes;
};

std::optional<Tag> take_tag(Reader& reader, const XmlShape& shape) {
  const auto name = reader.take_until(shape.quoted ? "\"" : ">");
  if (!name) return std::nullopt;
  if (!shape.quoted) {
    auto bare = trimmed(*name);
    if (bare.size() > 1 && bare.front() == '"' && bare.back() == '"') {
      bare = bare.substr(1, bare.size() - 2);
    }
    return Tag{bare, {}};
  }
  const auto attributes = reader.take_until(">");
  if (!attributes) return std::nullopt;
  return Tag{trimmed(*name), *attributes};
}

enum class Step { argument, end, unfinished, broken };

/// The next argument, or the end of the call.
Step take_step(Reader& reader, const XmlShape& shape, const ToolSet& tools,
               const std::string& function, Json& arguments) {
  reader.skip_space();
  if (reader.take(shape.function_close)) return Step::end;
  if (!shape.also_closes.empty() && reader.rest().starts_with(shape.also_closes)) return Step::end;
  if (!reader.take(shape.parameter_open)) {
    const bool closing =
        !shape.also_closes.empty() && Reader(reader.rest()).take(shape.also_closes);
    const bool part = shape.also_closes.starts_with(reader.rest());
    return closing || part || reader.ran_out() ? Step::unfinished : Step::broken;
  }
  const auto tag = take_tag(reader, shape);
  if (!tag) return Step::unfinished;
  if (tag->name.empty() || tag->name.find('\n') != tag->name.npos) return Step::broken;
  std::optional<std::string> value;
  if (shape.cdata) {
    value = take_cdata_value(reader, shape.parameter_close);
  } else if (const auto text = reader.take_until(shape.parameter_close)) {
    value = without_outer_newlines(*text);
  }
  if (!value) return Step::unfinished;
  const bool verbatim = tag->attributes.find("string=\"true\"") != tag->attributes.npos;
  arguments[std::string(tag->name)] =
      verbatim ? Json(*value) : tools.value(function, tag->name, *value);
  return Step::argument;
}

}  // namespace

std::string_view without_outer_newlines(std::string_view text) {
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

Scan scan_xml_call(std::string_view text, const XmlShape& shape, const ToolSet& tools,
                   Ending ending) {
  Reader reader(text);
  const auto stuck = [&] { return reader.ran_out() ? unsettled_scan(ending) : broken_scan(); };
  if (!shape.wrapper.empty() && reader.take(shape.wrapper)) reader.skip_space();
  if (!reader.take(shape.function_open)) return stuck();
  const auto name_so_far = reader.rest();
  const auto tag = take_tag(reader, shape);
  if (!tag) return may_be_name(name_so_far) ? stuck() : broken_scan();
  ParsedCall call{.name = std::string(tag->name)};
  if (!tools.contains(call.name)) return broken_scan();
  Json arguments = Json::object();
  for (;;) {
    const auto start = reader.at();
    const Step step = take_step(reader, shape, tools, call.name, arguments);
    if (step == Step::argument) continue;
    if (step == Step::broken) return broken_scan();
    const bool between = trimmed(text.substr(start)).empty();
    if (step == Step::unfinished && (ending != Ending::ended || !between)) {
      return unsettled_scan(ending);
    }
    call.arguments = arguments.dump();
    return {Scan::Kind::calls, reader.at(), {std::move(call)}};
  }
}

}  // namespace hearth::text
