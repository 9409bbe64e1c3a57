// What a verb can be told: one row an option. --help, docs/cli.md, completions, the config file and
// the parser all read these rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hearth::cli {

struct Option {
  std::vector<std::string> names;  // "-q", "--query"; the first long name is the one shown
  std::string value;               // placeholder of the value; empty for a switch
  std::string help;
  /// Takes a value's text (a switch: "true" or "false") to its field.
  /// Error: usage, whose message is what would have been accepted ("a whole number from 0 to 9").
  std::function<Result<void>(std::string_view)> set;

  std::string fallback = {};              // the default in words; empty when there is none to tell
  std::string env = {};                   // the variable that stands in when the flag is not given
  std::vector<std::string> choices = {};  // for completion
  bool repeatable = false;                // every value counts, not the last alone
  bool in_config = true;                  // may stand in config.toml
  bool no_effect = false;                 // an mlx-lm name: accepted with a warning
  bool hidden = false;                    // accepted, but not shown

  /// This option with the words for its default.
  Option with_default(std::string_view words) &&;

  const std::string& name() const;  // the first long name
  std::string key() const;          // name() without its dashes: the config file's spelling
};

/// A word without dashes.
struct Positional {
  std::string name;
  std::string help;
  std::optional<std::string>* field;
};

struct Section {
  std::string title;
  std::vector<Option> options;
};

class OptionTable {
 public:
  /// Options added from now on stand under this heading.
  void section(std::string title) { sections_.push_back({std::move(title), {}}); }
  Option& add(Option option);
  void positional(std::string name, std::string help, std::optional<std::string>* field) {
    positionals_.push_back({std::move(name), std::move(help), field});
  }

  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Positional>& positionals() const { return positionals_; }
  std::vector<const Option*> options() const;
  /// By any of its names; null when there is none.
  const Option* find(std::string_view name) const;
  /// Long names that are shown.
  std::vector<std::string> names() const;

 private:
  std::vector<Section> sections_;
  std::vector<Positional> positionals_;
};

// --- rows of the usual kinds; `names` is comma-separated: "-q,--query"

Option text(std::string_view names, std::string value, std::string* field, std::string help);
Option text(std::string_view names, std::string value, std::optional<std::string>* field,
            std::string help);
/// Every occurrence adds one.
Option texts(std::string_view names, std::string value, std::vector<std::string>* field,
             std::string help);
Option whole(std::string_view names, std::string value, int* field, int low, int high,
             std::string help);
Option whole(std::string_view names, std::string value, std::optional<int>* field, int low,
             int high, std::string help);
Option real(std::string_view names, std::string value, std::optional<float>* field, float low,
            float high, std::string help);
Option choice(std::string_view names, std::string value, std::string* field,
              std::vector<std::string> choices, std::string help);
Option flag(std::string_view names, bool* field, std::string help);
/// on, off, 1, 0, true, false.
Option on_off(std::string_view names, std::optional<bool>* field, std::string help);
/// A flag that was, with the words to say now. Hidden.
Option refused(std::string_view names, std::string message);

/// A flag of mlx-lm that we know and do not need: passes with one warning. Hidden.
/// @param value  placeholder of its value; empty for a switch
Option tolerated(std::string_view names, std::string value);

/// true for on 1 true, false for off 0 false.
std::optional<bool> parse_on_off(std::string_view text);

}  // namespace hearth::cli
