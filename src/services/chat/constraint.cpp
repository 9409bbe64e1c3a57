#include "services/chat/constraint.h"

#include <fmt/format.h>

#include <utility>

#include "services/chat/answer_mask.h"
#include "services/chat/prompt.h"
#include "text/call_grammar.h"
#include "text/ebnf.h"
#include "text/grammar_schema.h"

namespace hearth::services {
namespace {

using text::GrammarKind;

struct Source {
  GrammarKind kind;
  std::string text;
};

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Exactly one of the strings, as one terminal.
std::string choice_lark(const std::vector<std::string>& choices) {
  std::string options;
  for (const auto& choice : choices) {
    options += (options.empty() ? "" : " | ") + dump(Json(choice));
  }
  return fmt::format("start: CHOICE\nCHOICE: {}\n", options);
}

/// `^` and `$` say what holds anyway: the whole text matches.
std::string unanchored(std::string regex) {
  if (regex.starts_with('^')) regex.erase(0, 1);
  if (regex.ends_with('$') && !regex.ends_with("\\$")) regex.pop_back();
  return regex;
}

Result<Source> source_of(const text::Grammars& grammars, const Constraint& asked) {
  switch (asked.kind) {
    case Constraint::Kind::grammar: {
      auto lark = text::lark_of(asked.text);
      if (!lark) return fail(lark.error());
      return Source{GrammarKind::lark, std::move(*lark)};
    }
    case Constraint::Kind::regex:
      return Source{GrammarKind::regex, unanchored(asked.text)};
    case Constraint::Kind::choice:
      return Source{GrammarKind::lark, choice_lark(asked.choices)};
    case Constraint::Kind::json_object:
    case Constraint::Kind::json_schema:
      break;
  }
  const bool any = asked.kind == Constraint::Kind::json_object;
  auto held = text::compiled_schema(grammars, any ? Json{{"type", "object"}} : asked.schema,
                                    {.any_whitespace = asked.any_whitespace});
  if (!held) return fail(held.error());
  return Source{GrammarKind::json_schema, dump(*held)};
}

std::vector<text::CallableTool> callable_tools(const Json& tools, const ToolChoice& choice) {
  std::vector<text::CallableTool> out;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const Json& function = tools[i]["function"];
    const std::string name = function["name"];
    const auto& names = choice.names;
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    out.push_back({.name = name,
                   .parameters = function.value("parameters", Json()),
                   .param = fmt::format("tools[{}].function.parameters", i)});
  }
  return out;
}

Result<Source> forced_calls(const LoadedModel& model, const text::Grammars& grammars,
                            const Request& request, const Json& tools,
                            const text::Dialect& dialect) {
  const text::LarkWriter lark(grammars, *model.tokenizer, dialect.markers);
  auto rules = text::call_rules(lark, dialect, callable_tools(tools, request.tool_choice),
                                request.tool_choice.parallel);
  if (!rules) return fail(rules.error());
  return Source{GrammarKind::lark, "start: calls\n" + *rules};
}

Result<text::Matcher> compiled(const text::Grammars& grammars, const Result<Source>& source) {
  if (!source) return fail(source.error());
  return grammars.matcher(source->kind, source->text);
}

ReasoningRule reasoning_rule(const LoadedModel& model, const Request& request, const Input& input,
                             const OutputFormat& format, const ServerDefaults& defaults) {
  ReasoningRule rule;
  if (!format.reasoning) return rule;
  rule.starts_inside = format.starts_in_reasoning;
  rule.closing = format.reasoning->close;
  rule.budget = request.thinking_budget;
  if (!rule.starts_inside && thinks(model, input, defaults)) {
    rule.opening = model.tokenizer->id_of(format.reasoning->open);
  }
  if (auto ids = model.tokenizer->encode(rule.closing, {})) rule.closing_ids = std::move(*ids);
  return rule;
}

}  // namespace

Result<std::shared_ptr<engine::TokenMask>> answer_mask(const LoadedModel& model,
                                                       const Request& request, const Input& input,
                                                       const OutputFormat& format,
                                                       const ServerDefaults& defaults) {
  const bool forced = format.dialect && request.tool_choice.mode == ToolChoice::Mode::required;
  if (!forced && !request.constraint && !request.thinking_budget) return nullptr;

  const auto grammars = model.grammars->get([&] {
    return text::Grammars::make(*model.tokenizer, model.tokenizer->stop_ids(),
                                model.info.vocab_size);
  });
  if (!grammars) return fail(grammars.error());
  std::optional<Result<Source>> source;
  if (forced) {
    const auto& chat = std::get<text::Conversation>(input);
    source = forced_calls(model, **grammars, request, chat.tools, *format.dialect);
  } else if (request.constraint) {
    source = source_of(**grammars, *request.constraint);
  }
  std::optional<text::Matcher> matcher;
  if (source) {
    auto made = compiled(**grammars, *source);
    if (!made) {
      if (!forced) made.error().param = request.constraint->param + made.error().param;
      return fail(made.error());
    }
    matcher = std::move(*made);
  }
  return std::make_shared<AnswerMask>(
      *grammars, reasoning_rule(model, request, input, format, defaults), std::move(matcher));
}

}  // namespace hearth::services
