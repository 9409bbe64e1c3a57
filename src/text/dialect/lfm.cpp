// LFM2: <|tool_call_start|>[f(a=1)]<|tool_call_end|>.
// Source: the chat template and model card of LiquidAI/LFM2-1.2B.
#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"
#include "text/dialect/python_calls.h"
#include "text/dialect/reader.h"

namespace hearth::text {
namespace {

constexpr std::string_view open = "<|tool_call_start|>", close = "<|tool_call_end|>";

/// Python by default; LFM2 may be told to write JSON.
Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  reader.skip(open.size());
  reader.skip_space();
  const auto list = reader.at();
  if (reader.done()) return unsettled_scan(ending);
  if (reader.take("{")) return scan_json_value(text, open, tools, ending);
  if (reader.take("[")) {
    reader.skip_space();
    if (reader.done()) return unsettled_scan(ending);
    if (reader.take("{")) return scan_json_value(text, open, tools, ending);
  }
  return scan_python_list(text, list, tools, ending);
}

}  // namespace

const Dialect lfm{
    .name = "lfm",
    .signs = {{"<|tool_call_start|>"}, {"<|tool_list_start|>"}},
    .openings = {open},
    .closings = {"]", "}"},
    .tails = {close},
    .markers = {open, close},
    .form = ArgumentForm::pythonic,
    .call = {.begin = "<|tool_call_start|>[",
             .after_name = "(",
             .after_call = ")",
             .between = ", ",
             .end = "]<|tool_call_end|>"},
    .parameter = {.after_key = "=", .between = ", ", .string_quote = "\""},
    .scan = scan,
};

}  // namespace hearth::text
