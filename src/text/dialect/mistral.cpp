// Mistral: [TOOL_CALLS] [{"name": ..., "arguments": {...}, "id": ...}] up to tokenizer v7,
// [TOOL_CALLS]name[ARGS]{...} from v11 on ([CALL_ID]id may stand before [ARGS]).
// Source: the chat templates of mistralai/Mistral-7B-Instruct-v0.3 and Devstral-Small-2507.
#include <string>
#include <utility>

#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"
#include "text/dialect/reader.h"

namespace hearth::text {
namespace {

constexpr std::string_view open = "[TOOL_CALLS]", args = "[ARGS]", call_id = "[CALL_ID]";

Scan scan_named(std::string_view text, const ToolSet& tools, Ending ending) {
  const auto start = open.size();
  const auto end = text.find_first_of("[{", start);
  if (end == text.npos) return unsettled_scan(ending);
  ParsedCall call{.name = std::string(trimmed(text.substr(start, end - start)))};
  if (!tools.contains(call.name)) return broken_scan();
  Reader reader(text);
  reader.skip(end);
  const auto stuck = [&] { return reader.ran_out() ? unsettled_scan(ending) : broken_scan(); };
  if (reader.take(call_id)) {
    const auto id = reader.take_until(args);
    if (!id) return stuck();
    call.id = trimmed(*id);
  } else if (!reader.rest().starts_with('{') && !reader.take(args)) {
    return stuck();
  }
  return scan_json_arguments(text, reader.at(), std::move(call), ending);
}

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  reader.skip(open.size());
  reader.skip_space();
  if (reader.done()) return unsettled_scan(ending);
  const char first = reader.rest()[0];
  return first == '[' || first == '{' ? scan_json_value(text, open, tools, ending)
                                      : scan_named(text, tools, ending);
}

}  // namespace

const Dialect mistral_named{
    .name = "mistral_named",
    .signs = {{"[TOOL_CALLS]", "[ARGS]"}},
    .openings = {open},
    .closings = {"}"},
    .markers = {open, args, call_id},
    .form = ArgumentForm::json,
    .call = {.before_name = open, .after_name = args},
    .scan = scan,
};

const Dialect mistral{
    .name = "mistral",
    .signs = {{"[TOOL_CALLS]"}},
    .openings = {open},
    .closings = {"]", "}"},
    .markers = {open, args, call_id},
    .form = ArgumentForm::json,
    .call = {.begin = "[TOOL_CALLS] [",
             .before_name = "{\"name\": \"",
             .after_name = "\", \"arguments\": ",
             .after_call = "}",
             .between = ", ",
             .end = "]"},
    .scan = scan,
};

}  // namespace hearth::text
