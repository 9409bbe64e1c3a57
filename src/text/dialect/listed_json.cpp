// Families that put a JSON list of calls behind one marker: Granite 3, Phi-4-mini, Command R.
// Source: the chat templates of ibm-granite/granite-3.3-8b-instruct, microsoft/Phi-4-mini-instruct
// and CohereLabs/c4ai-command-r7b-12-2024.
#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"

namespace hearth::text {
namespace {

constexpr std::string_view pipe_open = "<|tool_call|>", pipe_close = "<|/tool_call|>";
constexpr std::string_view action_open = "<|START_ACTION|>", action_close = "<|END_ACTION|>";

Scan scan_pipe(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_json_value(text, pipe_open, tools, ending);
}

Scan scan_action(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_json_value(text, action_open, tools, ending);
}

}  // namespace

const Dialect granite{
    .name = "granite",
    .signs = {{"<|tool_call|>"}},
    .openings = {pipe_open},
    .closings = {"]", "}"},
    .tails = {pipe_close},
    .markers = {pipe_open, pipe_close},
    .form = ArgumentForm::json,
    .call = {.begin = "<|tool_call|>[",
             .before_name = "{\"name\": \"",
             .after_name = "\", \"arguments\": ",
             .after_call = "}",
             .between = ", ",
             .end = "]"},
    .scan = scan_pipe,
};

const Dialect command_r{
    .name = "command_r",
    .signs = {{"<|START_ACTION|>"}},
    .openings = {action_open},
    .closings = {"]", "}"},
    .tails = {action_close},
    .markers = {action_open, action_close},
    .form = ArgumentForm::json,
    .call = {.begin = "<|START_ACTION|>[\n    ",
             .before_name = "{\"tool_call_id\": \"0\", \"tool_name\": \"",
             .after_name = "\", \"parameters\": ",
             .after_call = "}",
             .between = ",\n    ",
             .end = "\n]<|END_ACTION|>"},
    .scan = scan_action,
};

}  // namespace hearth::text
