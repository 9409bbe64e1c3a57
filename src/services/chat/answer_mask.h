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
  std::vector<text::TokenId> opening;      // the tokens by which the model may open it first
  std::string closing;                     // text that ends it
  std::vector<text::TokenId> closing_ids;  // that text as tokens, for forcing it
  std::vector<text::TokenId> next_ids;     // what must follow it before the text: gpt-oss
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
  Result<engine::MaskWords> start_mask();
  Result<void> in_start(text::TokenId id);
  void in_reasoning(text::TokenId id);
  void close(std::size_t forced);
  Result<void> in_text(text::TokenId id);

  const std::shared_ptr<const text::Grammars> grammars_;
  const ReasoningRule reasoning_;
  std::optional<text::Matcher> matcher_;  // of the whole text, or of the call that is being written
  std::optional<CallTrigger> trigger_;
  const bool one_call_;
  std::optional<text::Matcher> fresh_;  // the text's, where an opening of several tokens began
  std::size_t opened_ = 0;              // of the opening, tokens that were taken
  bool text_began_ = true;              // what was taken of the opening may be the text's as well
  bool done_ = false;                   // the only call is written
  Phase phase_;
  std::string tail_;                    // end of the reasoning's text, shorter than its closing
  int spent_ = 0;                       // tokens of reasoning
  std::vector<text::TokenId> closing_;  // what is forced before the text
  std::size_t forced_ = 0;              // of closing_, those that were taken
  std::vector<std::uint32_t> words_;
};

}  // namespace hearth::services
