// Llama 3: the whole answer is {"name": ..., "parameters": {...}}, or it follows <|python_tag|>.
// Llama 3.2 and 4: [f(a=1), g()], or that between <|python_start|> and <|python_end|>.
// Source: the chat templates of meta-llama/Llama-3.1-8B-Instruct and Llama-4-Scout.
#include <array>

#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"
#include "text/dialect/python_calls.h"
#include "text/dialect/reader.h"

namespace hearth::text {
namespace {

constexpr std::string_view python_tag = "<|python_tag|>", python_start = "<|python_start|>",
                           python_end = "<|python_end|>";

constexpr std::array<std::string_view, 5> keys = {"\"name\"", "\"type\"", "\"function\"",
                                                  "\"parameters\"", "\"arguments\""};

/// Whether an object may be a call: its first key is one of a call's.
bool may_be_call(std::string_view object) {
  Reader reader(object);
  reader.skip(1);
  reader.skip_space();
  for (const auto key : keys) {
    if (reader.take(key)) return true;
  }
  return reader.ran_out() || reader.done();
}

Scan scan_json(std::string_view text, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  const bool tagged = reader.take(python_tag);
  reader.skip_space();
  if (reader.done()) return unsettled_scan(ending);
  if (reader.rest()[0] == '{') {
    if (!may_be_call(reader.rest())) return broken_scan();
    return scan_json_value(text, text.substr(0, reader.at()), tools, ending);
  }
  return tagged ? scan_python_call(text, reader.at(), tools, ending) : broken_scan();
}

Scan scan_python(std::string_view text, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  reader.take(python_start);
  reader.skip_space();
  return scan_python_list(text, reader.at(), tools, ending);
}

}  // namespace

const Dialect llama3{
    .name = "llama3",
    .signs = {{"<|python_tag|>"}, {"\"parameters\"", "<|eom_id|>"}, {"\"parameters\": dictionary"}},
    .openings = {python_tag},
    .first_openings = {"{"},
    .closings = {"}", ")"},
    .tails = {";", "<|eom_id|>"},
    .markers = {python_tag, "<|eom_id|>"},
    .form = ArgumentForm::json,
    .call = {.before_name = "{\"name\": \"",
             .after_name = "\", \"parameters\": ",
             .after_call = "}",
             .between = "; "},
    .scan = scan_json,
};

const Dialect llama_pythonic{
    .name = "llama_pythonic",
    .signs = {{"<|python_start|>"}, {"[func_name1("}, {"func_name1(params_name1="}},
    .openings = {python_start},
    .first_openings = {"["},
    .closings = {"]"},
    .tails = {python_end},
    .markers = {python_start, python_end},
    .form = ArgumentForm::pythonic,
    .call = {.begin = "[", .after_name = "(", .after_call = ")", .between = ", ", .end = "]"},
    .parameter = {.after_key = "=", .between = ", ", .string_quote = "\""},
    .scan = scan_python,
};

}  // namespace hearth::text
