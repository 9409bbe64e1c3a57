#include "services/chat/text_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "services/chat/openai_common.h"
#include "text/call_grammar.h"
#include "text/ebnf.h"
#include "text/grammar_schema.h"

namespace hearth::services {
namespace {

using text::GrammarKind;

/// Exactly one of the strings: the name of a terminal, and behind it the terminal.
std::string choice_rules(const std::vector<std::string>& choices) {
  std::string options;
  for (const auto& choice : choices) {
    options += (options.empty() ? "" : " | ") + dump(Json(choice));
  }
  return fmt::format("CHOICE\nCHOICE: {}\n", options);
}

/// `^` and `$` say what holds anyway: the whole text matches.
std::string unanchored(std::string regex) {
  if (regex.starts_with('^')) regex.erase(0, 1);
  if (regex.ends_with('$') && !regex.ends_with("\\$")) regex.pop_back();
  return regex;
}

bool demands_call(const Asked& asked) {
  return asked.format.dialect && asked.request.tool_choice.mode == ToolChoice::Mode::required;
}

bool forbids_calls(const Asked& asked) {
  return asked.request.tool_choice.mode == ToolChoice::Mode::none &&
         std::holds_alternative<text::Conversation>(asked.input);
}

bool is_strict(const Json& tool) { return tool["function"].value("strict", Json()) == true; }

const Json& tools_of(const Asked& asked) { return std::get<text::Conversation>(asked.input).tools; }

class TextRuleMaker {
 public:
  TextRuleMaker(const Asked& asked, const text::Grammars& grammars)
      : asked_(asked), grammars_(grammars) {}

  Result<text::Matcher> forced_calls() const {
    auto rules = calls(false, asked_.request.tool_choice.parallel, {});
    if (!rules) return fail(rules.error());
    return grammars_.matcher(GrammarKind::lark, "start: calls\n" + *rules);
  }

  Result<text::Matcher> constrained_text() const {
    const Constraint& constraint = *asked_.request.constraint;
    if (!header().empty()) return text_behind_header();
    if (constraint.kind == Constraint::Kind::regex) {
      return named(grammars_.matcher(GrammarKind::regex, unanchored(constraint.text)));
    }
    if (constraint.kind == Constraint::Kind::choice) {
      return named(grammars_.matcher(GrammarKind::lark,
                                     fmt::format("start: {}", choice_rules(constraint.choices))));
    }
    if (constraint.kind == Constraint::Kind::grammar) {
      auto lark = named(text::lark_of(constraint.text));
      if (!lark) return fail(lark.error());
      return named(grammars_.matcher(GrammarKind::lark, *lark));
    }
    auto held = named(schema());
    if (!held) return fail(held.error());
    return named(grammars_.matcher(GrammarKind::json_schema, dump(*held)));
  }

  Result<text::Matcher> constrained_text_or_calls() const {
    auto answer = named(answer_rule());
    if (!answer) return fail(answer.error());
    auto rules = calls(true, asked_.request.tool_choice.parallel, {});
    if (!rules) return fail(rules.error());
    return named(grammars_.matcher(GrammarKind::lark, fmt::format("start: {} answer | calls\n{}{}",
                                                                  header(), *answer, *rules)));
  }

  /// Openings of calls, each with what must follow it.
  Result<std::vector<CallOpening>> openings() const {
    const text::Dialect& dialect = *asked_.format.dialect;
    std::vector<CallOpening> all;
    for (const auto& text : openings_of(dialect)) all.push_back({.text = text});
    for (const auto text : dialect.first_openings) {
      all.push_back({.text = std::string(text), .at_start_only = true});
    }
    const std::string head = fmt::format("{}{}", dialect.call.begin, dialect.call.before_name);
    for (auto& opening : all) {
      if (!head.starts_with(opening.text)) continue;
      auto rules = calls(true, false, opening.text);
      if (!rules) return fail(rules.error());
      auto made = grammars_.matcher(GrammarKind::lark, "start: calls\n" + *rules);
      if (!made) return fail(made.error());
      opening.after = std::make_shared<text::Matcher>(std::move(*made));
    }
    return all;
  }

  /// Openings of calls, none of which may be written. Those that any text may start with stay.
  Result<std::vector<CallOpening>> forbidden_openings() const {
    std::vector<CallOpening> all;
    for (const auto& text : openings_of(dialect_of(asked_.model))) all.push_back({.text = text});
    return all;
  }

 private:
  /// Texts that begin a call anywhere. gpt-oss: the headers of messages that name a function, of
  /// which the last is the one that calls are read and held in.
  static std::vector<std::string> openings_of(const text::Dialect& dialect) {
    std::vector<std::string> all(dialect.openings.begin(), dialect.openings.end());
    if (!all.empty() || !dialect.first_openings.empty()) return all;
    return {
        "<|start|>assistant to=", "<|channel|>analysis to=", std::string(dialect.call.before_name)};
  }

  /// What stands before the text, as items of a grammar: gpt-oss names the channel of each message.
  std::string header() const {
    const text::Reasoning* reasoning = asked_.format.reasoning;
    if (!reasoning || !reasoning->channels) return {};
    const std::vector<std::string_view> markers(std::begin(text::Harmony::markers),
                                                std::end(text::Harmony::markers));
    return text::LarkWriter(grammars_, *asked_.model.tokenizer, markers)
        .literal(text::Harmony::text_header);
  }

  Result<text::Matcher> text_behind_header() const {
    auto answer = named(answer_rule());
    if (!answer) return fail(answer.error());
    return named(grammars_.matcher(GrammarKind::lark,
                                   fmt::format("start: {} answer\n{}", header(), *answer)));
  }

  /// An error, told of the field that holds the constraint.
  template <class T>
  Result<T> named(Result<T> result) const {
    if (!result) result.error().param = asked_.request.constraint->param + result.error().param;
    return result;
  }

  Result<Json> schema() const {
    const Constraint& constraint = *asked_.request.constraint;
    const bool any = constraint.kind == Constraint::Kind::json_object;
    return text::compiled_schema(grammars_, any ? Json{{"type", "object"}} : constraint.schema,
                                 {.any_whitespace = constraint.any_whitespace});
  }

  /// The constrained text as a rule `answer`.
  Result<std::string> answer_rule() const {
    const Constraint& constraint = *asked_.request.constraint;
    switch (constraint.kind) {
      case Constraint::Kind::grammar: {
        auto lark = text::lark_of(constraint.text);
        if (!lark) return lark;
        return fmt::format("answer: %lark {{\n{}\n}}\n", *lark);
      }
      case Constraint::Kind::regex:
        return fmt::format("answer: {}\n", text::LarkWriter::regex(unanchored(constraint.text)));
      case Constraint::Kind::choice:
        return fmt::format("answer: {}", choice_rules(constraint.choices));
      default:
        break;
    }
    auto held = schema();
    if (!held) return fail(held.error());
    return fmt::format("answer: %json {}\n", dump(*held));
  }

  Result<std::string> calls(bool strict_only, bool parallel, std::string_view opened) const {
    const text::LarkWriter lark(grammars_, *asked_.model.tokenizer, asked_.format.dialect->markers);
    return text::call_rules(lark, *asked_.format.dialect, tools(strict_only), parallel, opened);
  }

  /// @param strict_only  schemas of other tools are not held
  std::vector<text::CallableTool> tools(bool strict_only) const {
    const Json& all = tools_of(asked_);
    const auto& names = asked_.request.tool_choice.names;
    std::vector<text::CallableTool> out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Json& function = all[i]["function"];
      const std::string name = function["name"];
      if (!names.empty() && std::ranges::count(names, name) == 0) continue;
      out.push_back({.name = name,
                     .parameters = function.value("parameters", Json()),
                     .held = !strict_only || is_strict(all[i]),
                     .param = fmt::format("tools[{}].function.parameters", i)});
    }
    return out;
  }

  const Asked& asked_;
  const text::Grammars& grammars_;
};

}  // namespace

bool holds_text(const Asked& asked) {
  if (demands_call(asked) || asked.request.constraint || forbids_calls(asked)) return true;
  return asked.format.dialect && std::ranges::any_of(tools_of(asked), is_strict);
}

Result<TextRule> text_rule(const Asked& asked, std::shared_ptr<const text::Grammars> grammars) {
  TextRule rule{.one_call = !asked.request.tool_choice.parallel};
  const TextRuleMaker maker(asked, *grammars);
  if (!demands_call(asked) && !asked.request.constraint) {
    auto openings = forbids_calls(asked) ? maker.forbidden_openings() : maker.openings();
    if (!openings) return fail(openings.error());
    rule.trigger.emplace(std::move(grammars), std::move(*openings));
    return rule;
  }
  auto matcher = demands_call(asked)    ? maker.forced_calls()
                 : asked.format.dialect ? maker.constrained_text_or_calls()
                                        : maker.constrained_text();
  if (!matcher) return fail(matcher.error());
  rule.matcher = std::move(*matcher);
  return rule;
}

}  // namespace hearth::services
