#include "services/chat/constraint.h"

#include <utility>

#include "services/chat/prompt.h"
#include "services/chat/text_rule.h"

namespace hearth::services {
namespace {

ReasoningRule reasoning_rule(const Asked& asked, const ServerDefaults& defaults) {
  ReasoningRule rule;
  const text::Reasoning* reasoning = asked.format.reasoning;
  if (!reasoning) return rule;
  const text::Tokenizer& tokenizer = *asked.model.tokenizer;
  rule.starts_inside = asked.format.starts_in_reasoning;
  rule.closing = reasoning->close;
  rule.budget = asked.request.thinking_budget;
  const auto ids = [&](std::string_view text) {
    return tokenizer.encode(text, {}).value_or(std::vector<text::TokenId>());
  };
  rule.closing_ids = ids(rule.closing);
  if (reasoning->channels) {  // gpt-oss always reasons, and text has a header of its own
    rule.opening = ids(text::Harmony::reasoning_header);
    rule.next_ids = ids(text::Harmony::turn);
  } else if (!rule.starts_inside && thinks(asked.model, asked.input, defaults)) {
    if (const auto id = tokenizer.id_of(reasoning->open)) rule.opening = {*id};
  }
  return rule;
}

}  // namespace

Result<std::shared_ptr<engine::TokenMask>> answer_mask(const LoadedModel& model,
                                                       const Request& request, const Input& input,
                                                       const OutputFormat& format,
                                                       const ServerDefaults& defaults) {
  const Asked asked{model, request, input, format};
  const bool text = defaults.grammars && holds_text(asked);
  if (!text && !request.thinking_budget) return nullptr;
  auto grammars = model.grammars->get([&] {
    return text::Grammars::make(*model.tokenizer, model.tokenizer->stop_ids(),
                                model.info.vocab_size);
  });
  if (!grammars) return fail(grammars.error());
  auto rule = text ? text_rule(asked, *grammars) : Result<TextRule>(TextRule());
  if (!rule) return fail(rule.error());
  return std::make_shared<AnswerMask>(*grammars, reasoning_rule(asked, defaults), std::move(*rule));
}

}  // namespace hearth::services
