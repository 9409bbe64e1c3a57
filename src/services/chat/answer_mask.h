// What one answer may be, token by token: reasoning first, as long as its budget lasts, then text
// held by a grammar, or free text in which a tool call is held once it begins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/token_mask.h"
#include "services/chat/call_trigger.h"
#include "text/grammar.h"

namespace hearth::services {

/// The reasoning channel of the answer.
struct ReasoningRule {
  bool starts_inside = false;              // the prompt opened it
  std::optional<text::TokenId> opening;    // the token by which the model may open it first
  std::string closing;                     // text that ends it
  std::vector<text::TokenId> closing_ids;  // that text as tokens, for forcing it
  std::optional<int> budget;               // most tokens of it
};

/// What the text after the reasoning must be. Neither: anything.
struct TextRule {
  std::optional<text::Matcher> matcher;  // all of it
  std::optional<CallTrigger> trigger;    // its tool calls
  bool one_call = false;                 // the answer ends after the trigger's first call
};

class AnswerMask : public engine::TokenMask {
 public:
  AnswerMask(std::shared_ptr<const text::Grammars> grammars, ReasoningRule reasoning,
             TextRule text);

  Result<engine::MaskWords> compute() override;
  Result<void> accept(text::TokenId id) override;
  bool complete() const override;

 private:
  enum class Phase { start, reasoning, closing, text };

  engine::MaskWords only(text::TokenId id);
  Result<engine::MaskWords> text_mask();
  void in_reasoning(text::TokenId id);
  Result<void> in_text(text::TokenId id);

  const std::shared_ptr<const text::Grammars> grammars_;
  const ReasoningRule reasoning_;
  std::optional<text::Matcher> matcher_;  // of the whole text, or of the call that is being written
  std::optional<CallTrigger> trigger_;
  const bool one_call_;
  bool done_ = false;  // the only call is written
  Phase phase_;
  std::string tail_;        // end of the reasoning's text, shorter than its closing
  int spent_ = 0;           // tokens of reasoning
  std::size_t forced_ = 0;  // of closing_ids, those that were taken
  std::vector<std::uint32_t> words_;
};

}  // namespace hearth::services
