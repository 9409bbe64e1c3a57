// gpt-oss: <|channel|>commentary to=functions.name <|constrain|>json<|message|>{...}<|call|>.
// The pipeline reads the headers of messages; a call is one whose header names a function.
// Source: the chat template of openai/gpt-oss-20b, the harmony format's guide.
#include <string>
#include <utility>

#include "text/dialect/dialects.h"
#include "text/dialect/json_calls.h"
#include "text/dialect/reader.h"
#include "text/dialect/reasoning.h"

namespace hearth::text {
namespace {

Scan scan(std::string_view text, const ToolSet& tools, Ending ending) {
  Reader reader(text);
  const auto header = reader.take_until(Harmony::message);
  if (!header) return unsettled_scan(ending);
  ParsedCall call{.name = std::string(harmony_recipient(*header))};
  if (!tools.contains(call.name)) return broken_scan();
  Scan scan = scan_json_arguments(text, reader.at(), std::move(call), ending);
  return scan;
}

}  // namespace

std::string_view harmony_recipient(std::string_view header) {
  constexpr std::string_view to = "to=", space = "functions.";
  const auto at = header.find(to);
  if (at == header.npos) return {};
  auto name = header.substr(at + to.size());
  name = name.substr(0, name.find_first_of(" <\n"));
  if (name.starts_with(space)) name.remove_prefix(space.size());
  return name;
}

const Dialect harmony{
    .name = "harmony",
    .signs = {{"<|channel|>", "<|message|>"}},
    .closings = {"}"},
    .tails = {Harmony::call, Harmony::end},
    .markers = {Harmony::start, Harmony::channel, Harmony::message, Harmony::end, Harmony::call,
                Harmony::result, Harmony::constrain},
    .form = ArgumentForm::json,
    .call = {.before_name = "<|channel|>commentary to=functions.",
             .after_name = " <|constrain|>json<|message|>",
             .after_call = Harmony::call,
             .one_a_turn = true},
    .scan = scan,
};

}  // namespace hearth::text
