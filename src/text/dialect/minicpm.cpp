// MiniCPM5: <function name="f"><param name="k">v</param></function>; CDATA and entities in values.
// Source: the chat template of openbmb/MiniCPM5.
#include "text/dialect/dialects.h"
#include "text/dialect/xml_calls.h"

namespace hearth::text {
namespace {

constexpr std::string_view open = "<function name=\"", close = "</function>";

constexpr XmlShape shape{.function_open = open,
                         .function_close = close,
                         .parameter_open = "<param name=\"",
                         .parameter_close = "</param>",
                         .quoted = true,
                         .cdata = true};

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  return scan_xml_call(text, shape, tools, ending);
}

}  // namespace

const Dialect minicpm{
    .name = "minicpm",
    .signs = {{"<function name=", "<param name="}},
    .openings = {open},
    .closings = {close},
    .form = ArgumentForm::parameters,
    .call = {.before_name = open, .after_name = "\">", .after_call = close, .between = "\n"},
    .parameter = {.before_key = "<param name=\"", .after_key = "\">", .after_value = "</param>"},
    .scan = scan,
};

}  // namespace hearth::text
