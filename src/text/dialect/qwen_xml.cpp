// Qwen3-Coder and Qwen3.5:
// <tool_call><function=name><parameter=key>value</parameter></function></tool_call>.
// Source: the chat template of Qwen/Qwen3-Coder-30B-A3B-Instruct.
#include "text/dialect/dialects.h"
#include "text/dialect/xml_calls.h"

namespace hearth::text {
namespace {

constexpr std::string_view open = "<tool_call>", close = "</tool_call>", function = "<function=";

constexpr XmlShape shape{.wrapper = open,
                         .function_open = function,
                         .function_close = "</function>",
                         .parameter_open = "<parameter=",
                         .parameter_close = "</parameter>",
                         .also_closes = close};

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_xml_call(text, shape, tools, ending);
}

}  // namespace

const Dialect qwen_xml{
    .name = "qwen_xml",
    .signs = {{"<function=", "<parameter="}},
    .openings = {open, function},
    .closings = {"</function>", close},
    .tails = {close},
    .markers = {open, close},
    .form = ArgumentForm::parameters,
    .call = {.before_name = "<tool_call>\n<function=",
             .after_name = ">\n",
             .after_call = "</function>\n</tool_call>",
             .between = "\n"},
    .parameter = {.before_key = "<parameter=",
                  .after_key = ">\n",
                  .after_value = "\n</parameter>\n"},
    .scan = scan,
};

}  // namespace hearth::text
