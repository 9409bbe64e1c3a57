// MiniMax M2: <minimax:tool_call><invoke name="f"><parameter name="k">v</parameter></invoke>
// </minimax:tool_call>, several invokes in one block.
// Source: the chat template of MiniMaxAI/MiniMax-M2.
#include "text/dialect/dialects.h"
#include "text/dialect/xml_calls.h"

namespace hearth::text {
namespace {

constexpr std::string_view open = "<minimax:tool_call>", close = "</minimax:tool_call>",
                           invoke = "<invoke name=\"";

constexpr XmlShape shape{.wrapper = open,
                         .function_open = invoke,
                         .function_close = "</invoke>",
                         .parameter_open = "<parameter name=\"",
                         .parameter_close = "</parameter>",
                         .quoted = true,
                         .also_closes = close};

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_xml_call(text, shape, tools, ending);
}

}  // namespace

const Dialect minimax{
    .name = "minimax",
    .signs = {{"<minimax:tool_call>"}, {"minimax:tool_call", "<invoke name="}},
    .openings = {open, invoke},
    .closings = {"</invoke>", close},
    .tails = {close},
    .markers = {open, close},
    .form = ArgumentForm::parameters,
    .call = {.begin = "<minimax:tool_call>\n",
             .before_name = invoke,
             .after_name = "\">\n",
             .after_call = "</invoke>\n",
             .end = close},
    .parameter = {.before_key = "<parameter name=\"",
                  .after_key = "\">",
                  .after_value = "</parameter>\n"},
    .scan = scan,
};

}  // namespace hearth::text
