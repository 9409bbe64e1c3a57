// Grammars of answers that hold tool calls, in the model's own way of writing them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/dialect/dialect.h"
#include "text/grammar.h"
#include "text/tokenizer.h"

namespace hearth::text {

/// A tool as a grammar needs it.
struct CallableTool {
  std::string name;
  Json parameters;    // JSON schema; null: none
  bool held = true;   // its arguments follow the schema; else they are any object
  std::string param;  // names the schema in errors
};

/// Texts of a grammar in llguidance's Lark, markers told as their tokens.
class LarkWriter {
 public:
  LarkWriter(const Grammars& grammars, const Tokenizer& tokenizer,
             std::vector<std::string_view> markers);

  /// The text as a sequence of Lark items; empty for no text.
  std::string literal(std::string_view text) const;
  /// The text up to its first marker, quoted (empty for no text), and the rest as literal().
  std::pair<std::string, std::string> split_literal(std::string_view text) const;
  /// A regular expression as a terminal.
  static std::string regex(std::string_view expression);
  /// A terminal of any text that does not hold `end` (not empty).
  static std::string text_before(std::string_view end);
  /// A JSON schema as a Lark item. Errors: invalid_schema, as compiled_schema().
  Result<std::string> json(const Json& schema, bool any_whitespace) const;
  const Grammars& grammars() const { return grammars_; }

 private:
  const Grammars& grammars_;
  const Tokenizer& tokenizer_;
  std::vector<std::string_view> markers_;
};

/// Lark rules named `calls` and below for one or more calls (only one unless `parallel`).
/// @param opened  a text that the answer holds already and calls begin with; empty: none
/// Errors: invalid_schema, `param` the tool's with the keyword's pointer behind it.
Result<std::string> call_rules(const LarkWriter& lark, const Dialect& dialect,
                               const std::vector<CallableTool>& tools, bool parallel,
                               std::string_view opened = {});

}  // namespace hearth::text
