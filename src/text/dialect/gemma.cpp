// Gemma 4: <|tool_call>call:name{key:<|"|>text<|"|>,n:1}<tool_call|>. FunctionGemma: the same
// between <start_function_call> and <end_function_call>, strings between <escape>.
// Source: the chat templates of google/gemma-4 and google/functiongemma-270m-it.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"
#include "text/dialect/reader.h"

namespace hearth::text {
namespace {

constexpr std::string_view open = "<|tool_call>", close = "<tool_call|>", quote = "<|\"|>";
constexpr std::string_view function_open = "<start_function_call>",
                           function_close = "<end_function_call>", function_quote = "<escape>";
constexpr int deepest = 64;

std::optional<Json> take_value(Reader& reader, std::string_view quote, int depth);

/// key:value pairs up to the brace.
std::optional<Json> take_object(Reader& reader, std::string_view quote, int depth) {
  Json out = Json::object();
  reader.skip_space();
  while (!reader.take("}")) {
    const bool quoted = reader.take(quote);
    if (quoted && !reader.rest().empty()) {
      const auto key = reader.take_until(quote);
      if (!key || !reader.take(":")) return std::nullopt;
      auto value = take_value(reader, quote, depth);
      if (!value) return std::nullopt;
      out[std::string(*key)] = std::move(*value);
    } else {
      const auto key = reader.take_until(":");
      if (!key || trimmed(*key).empty()) return std::nullopt;
      auto value = take_value(reader, quote, depth);
      if (!value) return std::nullopt;
      out[std::string(trimmed(*key))] = std::move(*value);
    }
    reader.skip_space();
    if (reader.take(","))
      reader.skip_space();
    else if (!reader.rest().starts_with("}"))
      return reader.take("}"), std::nullopt;
  }
  return out;
}

std::optional<Json> take_list(Reader& reader, std::string_view quote, int depth) {
  Json out = Json::array();
  reader.skip_space();
  while (!reader.take("]")) {
    auto value = take_value(reader, quote, depth);
    if (!value) return std::nullopt;
    out.push_back(std::move(*value));
    reader.skip_space();
    if (reader.take(","))
      reader.skip_space();
    else if (!reader.rest().starts_with("]"))
      return reader.take("]"), std::nullopt;
  }
  return out;
}

/// A number, true, false, null, or bare text up to the next separator.
std::optional<Json> take_bare(Reader& reader) {
  const auto rest = reader.rest();
  const auto end = rest.find_first_of(",}]");
  if (end == rest.npos) return reader.take_until("}"), std::nullopt;
  const auto text = trimmed(rest.substr(0, end));
  if (text.empty()) return std::nullopt;
  reader.skip(end);
  if (auto parsed = parse_json(text)) return std::move(*parsed);
  return Json(std::string(text));
}

std::optional<Json> take_value(Reader& reader, std::string_view quote, int depth) {
  if (depth > deepest) return std::nullopt;
  reader.skip_space();
  if (reader.take(quote)) {
    const auto text = reader.take_until(quote);
    if (!text) return std::nullopt;
    return Json(std::string(*text));
  }
  if (reader.take("{")) return take_object(reader, quote, depth + 1);
  if (reader.take("[")) return take_list(reader, quote, depth + 1);
  return take_bare(reader);
}

Scan scan_with(std::string_view text, std::string_view opening, std::string_view closing,
               std::string_view quote, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  const auto stuck = [&] { return reader.ran_out() ? unsettled_scan(ending) : broken_scan(); };
  reader.skip(opening.size());
  reader.skip_space();
  if (!reader.take("call:")) return stuck();
  const auto name = reader.take_until("{");
  if (!name) return stuck();
  ParsedCall call{.name = std::string(trimmed(*name))};
  if (!tools.contains(call.name)) return broken_scan();
  const auto arguments = take_object(reader, quote, 0);
  if (!arguments) return stuck();
  call.arguments = arguments->dump();
  const auto end = reader.at();
  reader.skip_space();
  if (!reader.take(closing)) {
    if (!reader.ran_out()) return {Scan::Kind::calls, end, {std::move(call)}};
    if (ending == Ending::open) return {};
    reader.skip(reader.rest().size());
  }
  return {Scan::Kind::calls, reader.at(), {std::move(call)}};
}

Scan scan_gemma(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_with(text, open, close, quote, tools, ending);
}

Scan scan_function_gemma(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_with(text, function_open, function_close, function_quote, tools, ending);
}

}  // namespace

const Dialect gemma{
    .name = "gemma",
    .signs = {{"<|tool_call>"}},
    .openings = {open},
    .closings = {"}", close},
    .markers = {open, close, quote},
    .form = ArgumentForm::gemma,
    .call = {.before_name = "<|tool_call>call:", .after_name = "{", .after_call = "}<tool_call|>"},
    .parameter = {.after_key = ":", .between = ",", .string_quote = quote},
    .scan = scan_gemma,
};

const Dialect function_gemma{
    .name = "function_gemma",
    .signs = {{"<start_function_call>"}},
    .openings = {function_open},
    .closings = {"}", function_close},
    .markers = {function_open, function_close, function_quote},
    .form = ArgumentForm::gemma,
    .call = {.before_name = "<start_function_call>call:",
             .after_name = "{",
             .after_call = "}<end_function_call>"},
    .parameter = {.after_key = ":", .between = ",", .string_quote = function_quote},
    .scan = scan_function_gemma,
};

}  // namespace hearth::text
