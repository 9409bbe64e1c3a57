// Finds where free text begins a tool call, so that a grammar can hold the rest of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/grammar.h"

namespace hearth::services {

/// A text that begins a call, and what must follow it.
struct CallOpening {
  std::string text;
  bool at_start_only = false;            // where nothing but white space or calls came before
  std::shared_ptr<text::Matcher> after;  // never advanced; null: the text must not be written
};

class CallTrigger {
 public:
  CallTrigger(std::shared_ptr<const text::Grammars> grammars, std::vector<CallOpening> openings);

  /// Clears the bits of tokens that must not be taken next: those that complete an opening and go
  /// on, and those that complete a forbidden one. False: there are none, `words` is as it was.
  bool rule_out(std::span<std::uint32_t> words) const;

  /// Takes a token of free text. The opening that it completes, or null.
  const CallOpening* push(text::TokenId id);

  /// A call has ended: what follows is a start again.
  void restart();

 private:
  bool fits(const CallOpening& opening) const { return at_start_ || !opening.at_start_only; }
  void rule_out_rests(const CallOpening& opening, std::size_t held, std::span<std::uint32_t> words,
                      bool& any) const;

  const std::shared_ptr<const text::Grammars> grammars_;
  const std::vector<CallOpening> openings_;
  std::vector<std::vector<text::TokenId>> whole_;  // of each opening: tokens that hold it and more
  std::string tail_;
  std::size_t longest_ = 0;
  bool at_start_ = true;
};

}  // namespace hearth::services
