// Hermes, Qwen2 and Qwen3: <tool_call>{"name": ..., "arguments": {...}}</tool_call>.
// Source: the chat templates of NousResearch/Hermes-3 and Qwen/Qwen2.5, Qwen3.
#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"

namespace hearth::text {
namespace {

constexpr std::string_view open = "<tool_call>", close = "</tool_call>";

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_json_block(text, open, close, tools, ending);
}

}  // namespace

const Dialect hermes{
    .name = "hermes",
    .signs = {{"<tool_call>"}},
    .openings = {open},
    .closings = {close},
    .markers = {open, close},
    .form = ArgumentForm::json,
    .call = {.before_name = "<tool_call>\n{\"name\": \"",
             .after_name = "\", \"arguments\": ",
             .after_call = "}\n</tool_call>",
             .between = "\n"},
    .scan = scan,
};

}  // namespace hearth::text
