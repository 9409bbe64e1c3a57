// How models write tool calls, as data: which texts open a call, what stands around name and
// arguments, in which form the arguments are. A file a dialect beside this one; dialects.cpp lists
// them. Leaves out when a call is looked for: that is the output pipeline's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/dialect/tool_set.h"

namespace hearth::text {

/// A call as the model wrote it.
struct ParsedCall {
  std::string name;       // one of the tools
  std::string arguments;  // text of a JSON object
  std::string id;         // where the model gave one; else empty
  bool operator==(const ParsedCall&) const = default;
};

enum class ArgumentForm {
  json,        // one JSON object
  parameters,  // each between markers of its own: strings as they are, the rest as JSON
  pythonic,    // key=value, Python literals
  gemma,       // key:value, strings between <|"|>
};

/// How one argument is written, where the form is not json. Text in order:
/// before_key KEY after_key VALUE after_value, with `between` after each but the last.
struct ParameterShape {
  std::string_view before_key, after_key, after_value, between;
  std::string_view string_quote;  // around strings; empty: strings stand bare
};

/// How a call is written, for forcing one. Text in order:
/// begin (before_name NAME after_name ARGUMENTS after_call), with `between` after each call but the
/// last, then `end`. ARGUMENTS with form json is an object with its braces; else parameters alone.
struct CallShape {
  std::string_view begin, before_name, after_name, after_call, between, end;
  bool numbered = false;  // the call's index (0, 1, ...) stands right before after_name
  bool one_a_turn = false;
};

/// What the text after an opening turned out to be.
struct Scan {
  enum class Kind {
    more,    // cannot be told yet
    calls,   // `size` bytes are `calls`
    broken,  // the opening is plain text
  };
  Kind kind = Kind::more;
  std::size_t size = 0;
  std::vector<ParsedCall> calls;
};

/// Whether text can still follow.
enum class Ending {
  open,   // yes
  cut,    // no: the answer was cut off, so what is not whole stays text
  ended,  // no: the model ended its turn, so what only lacks its closing counts
};

struct Dialect {
  std::string_view name;  // as models::to_string(ToolDialect)

  /// A chat template that holds all texts of one of these lists is of this dialect.
  std::vector<std::vector<std::string_view>> signs;

  /// Texts that begin a call, anywhere in the answer.
  std::vector<std::string_view> openings;
  /// Texts that begin a call only where nothing but white space or calls came before.
  std::vector<std::string_view> first_openings;
  /// Texts of which one must have come before `scan` can tell a call.
  std::vector<std::string_view> closings;
  /// Texts that may follow a call and belong to it, besides white space.
  std::vector<std::string_view> tails;
  /// Every text above or inside a call that a vocabulary may hold as one control token.
  std::vector<std::string_view> markers;

  ArgumentForm form = ArgumentForm::json;
  CallShape call;
  ParameterShape parameter;

  /// Reads one call (or a list of them) at the head of `text`, which starts with an opening. What
  /// it says of a text holds for every longer one, but for `more`.
  Scan (*scan)(std::string_view text, const ToolSet& tools, Ending ending) = nullptr;
};

/// Every dialect, in the order in which templates are held against them.
const std::vector<const Dialect*>& all_dialects();

/// The dialect that the chat template's own text shows; else the family's; else hermes.
/// @param family  a dialect's name; "none" or an unknown one: no opinion
const Dialect& find_dialect(std::string_view chat_template, std::string_view family);

}  // namespace hearth::text
