// JSON as models write it: where a value ends, and a reader that mends what is nearly JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/json.h"

namespace hearth::text {

/// Where the object or array at the head of `text` ends.
struct JsonEnd {
  std::size_t size = std::string_view::npos;  // npos: it has not ended
  bool in_string = false;                     // the text ends inside a string
};
JsonEnd json_end(std::string_view text);

/// The text of an object's member, as it stands; empty when there is none.
/// @param object  text of a sound JSON object
std::string_view member_text(std::string_view object, std::string_view key);

/// Reads values that are nearly JSON: single quotes, trailing commas, True, False and None, bare
/// keys, control characters and unknown escapes in strings, tuples.
class LenientJson {
 public:
  /// Objects and lists that the end of the text cuts off are closed; a string never is.
  explicit LenientJson(std::string_view text) : text_(text) {}

  /// The value at the cursor, after white space; none when it cannot be read.
  std::optional<Json> value();
  /// Consumes one character, after white space.
  bool take(char c);
  /// Letters, digits, underscores, dots and dashes at the cursor.
  std::string_view word();
  std::size_t at() const { return at_; }
  /// Only white space is left.
  bool done();
  /// The end of the text was met where more could have followed.
  bool ran_out() const { return ran_out_; }

 private:
  std::optional<Json> object();
  std::optional<Json> list(char close);
  std::optional<std::string> string(char quote);
  std::optional<Json> scalar();
  bool closes(char quote) const;
  void escape(std::string& out);
  void unicode(std::string& out);
  std::optional<unsigned> hex4(std::size_t at) const;
  void skip_space();

  static constexpr int deepest = 256;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ran_out_ = false;
};

}  // namespace hearth::text
