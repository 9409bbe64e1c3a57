// Kimi K2: <|tool_calls_section_begin|><|tool_call_begin|>functions.name:0
// <|tool_call_argument_begin|>{...}<|tool_call_end|><|tool_calls_section_end|>.
// Source: the chat template and tool-calling guide of moonshotai/Kimi-K2-Instruct.
#include <string>
#include <utility>

#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"
#include "text/dialect/reader.h"

namespace hearth::text {
namespace {

constexpr std::string_view section_open = "<|tool_calls_section_begin|>",
                           section_close = "<|tool_calls_section_end|>",
                           open = "<|tool_call_begin|>", close = "<|tool_call_end|>",
                           argument = "<|tool_call_argument_begin|>";

/// functions.name:0 is the call's id; its name is in the middle.
std::string_view name_of(std::string_view id) {
  constexpr std::string_view space = "functions.";
  if (id.starts_with(space)) id.remove_prefix(space.size());
  return id.substr(0, id.rfind(':'));
}

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  const auto stuck = [&] { return reader.ran_out() ? unsettled_scan(ending) : broken_scan(); };
  if (reader.take(section_open)) reader.skip_space();
  if (!reader.take(open)) return stuck();
  const auto id = reader.take_until(argument);
  if (!id) return stuck();
  ParsedCall call{.name = std::string(name_of(trimmed(*id))), .id = std::string(trimmed(*id))};
  if (!tools.contains(call.name)) return broken_scan();
  const auto body = reader.take_until(close);
  if (!body && ending != Ending::ended) return stuck();
  auto arguments = read_json_arguments(body.value_or(reader.rest()), Repair::whole);
  if (!arguments) return broken_scan();
  call.arguments = std::move(*arguments);
  return {Scan::Kind::calls, body ? reader.at() : text.size(), {std::move(call)}};
}

}  // namespace

const Dialect kimi{
    .name = "kimi",
    .signs = {{"<|tool_call_begin|>", "<|tool_call_argument_begin|>"}},
    .openings = {section_open, open},
    .closings = {close},
    .tails = {section_close},
    .markers = {section_open, section_close, open, close, argument},
    .form = ArgumentForm::json,
    .call = {.begin = section_open,
             .before_name = "<|tool_call_begin|>functions.",
             .after_name = argument,
             .after_call = close,
             .end = section_close,
             .numbered = true},
    .scan = scan,
};

}  // namespace hearth::text
