// DeepSeek V3 and R1: <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>name, then
// the arguments in a JSON fence. V3.1: name<｜tool▁sep｜>{...}. V3.2: XML whose tags start with
// ｜DSML｜. Source: the chat templates of deepseek-ai/DeepSeek-V3-0324 and V3.1, the encoding of
// V3.2.
#include <string>
#include <utility>

#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"
#include "text/dialect/reader.h"
#include "text/dialect/xml_calls.h"

namespace hearth::text {
namespace {

constexpr std::string_view section_open = "<｜tool▁calls▁begin｜>",
                           section_close = "<｜tool▁calls▁end｜>", open = "<｜tool▁call▁begin｜>",
                           close = "<｜tool▁call▁end｜>", separator = "<｜tool▁sep｜>";

/// What stands between the separator and the end: arguments, with V3 the name before them.
std::optional<ParsedCall> call_of(std::string_view kind, std::string_view rest,
                                  const ToolSet& tools, Repair repair) {
  ParsedCall call{.name = std::string(trimmed(kind))};
  if (call.name == "function" && !trimmed(rest).starts_with('{')) {
    rest = trimmed(rest);
    const auto line = rest.find('\n');
    call.name = trimmed(rest.substr(0, line));
    rest = line == rest.npos ? std::string_view() : rest.substr(line);
  }
  if (!tools.contains(call.name)) return std::nullopt;
  rest = trimmed(rest);
  for (const std::string_view fence : {"```json", "```"}) {
    if (!rest.starts_with(fence)) continue;
    rest = trimmed(rest.substr(fence.size()));
    if (rest.ends_with("```")) rest = trimmed(rest.substr(0, rest.size() - 3));
    break;
  }
  auto arguments = read_json_arguments(rest, repair);
  if (!arguments) return std::nullopt;
  call.arguments = std::move(*arguments);
  return call;
}

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  const auto stuck = [&] { return reader.ran_out() ? unsettled_scan(ending) : broken_scan(); };
  if (reader.take(section_open)) reader.skip_space();
  if (!reader.take(open)) return stuck();
  const auto kind = reader.take_until(separator);
  if (!kind) return stuck();
  const auto rest = reader.take_until(close);
  if (!rest && ending != Ending::ended) return stuck();
  auto call = call_of(*kind, rest.value_or(reader.rest()), tools, Repair::whole);
  if (!call) return broken_scan();
  return {Scan::Kind::calls, rest ? reader.at() : text.size(), {std::move(*call)}};
}

constexpr std::string_view dsml_open = "<｜DSML｜function_calls>",
                           dsml_close = "</｜DSML｜function_calls>",
                           dsml_invoke = "<｜DSML｜invoke name=\"";

constexpr XmlShape dsml_shape{.wrapper = dsml_open,
                              .function_open = dsml_invoke,
                              .function_close = "</｜DSML｜invoke>",
                              .parameter_open = "<｜DSML｜parameter name=\"",
                              .parameter_close = "</｜DSML｜parameter>",
                              .quoted = true,
                              .also_closes = dsml_close};

Scan scan_dsml(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_xml_call(text, dsml_shape, tools, ending);
}

}  // namespace

const Dialect deepseek{
    .name = "deepseek",
    .signs = {{"<｜tool▁call▁begin｜>", "```json"}},
    .openings = {section_open, open},
    .closings = {close},
    .tails = {section_close},
    .markers = {section_open, section_close, open, close, separator},
    .form = ArgumentForm::json,
    .call = {.begin = section_open,
             .before_name = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
             .after_name = "\n```json\n",
             .after_call = "\n```<｜tool▁call▁end｜>",
             .between = "\n",
             .end = section_close},
    .scan = scan,
};

const Dialect deepseek_v31{
    .name = "deepseek_v31",
    .signs = {{"<｜tool▁call▁begin｜>"}},
    .openings = {section_open, open},
    .closings = {close},
    .tails = {section_close},
    .markers = {section_open, section_close, open, close, separator},
    .form = ArgumentForm::json,
    .call = {.begin = section_open,
             .before_name = open,
             .after_name = separator,
             .after_call = close,
             .end = section_close},
    .scan = scan,
};

const Dialect deepseek_dsml{
    .name = "deepseek_dsml",
    .signs = {{"｜DSML｜"}},
    .openings = {dsml_open, dsml_invoke},
    .closings = {"</｜DSML｜invoke>", dsml_close},
    .tails = {dsml_close},
    .markers = {"｜DSML｜"},
    .form = ArgumentForm::parameters,
    .call = {.begin = "<｜DSML｜function_calls>\n",
             .before_name = dsml_invoke,
             .after_name = "\">\n",
             .after_call = "</｜DSML｜invoke>\n",
             .end = dsml_close},
    .parameter = {.before_key = "<｜DSML｜parameter name=\"",
                  .after_key = "\">",
                  .after_value = "</｜DSML｜parameter>\n"},
    .scan = scan_dsml,
};

}  // namespace hearth::text
