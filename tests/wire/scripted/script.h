// The script of a scripted model: turns, each picked by order or by what the prompt says.
//
//   {"turns": [{"when": ["weather", "Paris"], "text": "<tool_call>...", "token_delay_ms": 5},
//              {"unless": "title", "text": "It is sunny.", "finish": "stop", "times": 0}]}
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/result.h"
#include "engine/token_stream.h"

namespace hearth::scripted {

struct Turn {
  std::vector<std::string> when;    // all must stand in the prompt
  std::vector<std::string> unless;  // none may
  std::string text;                 // what the model says; its markers are control tokens
  std::string reasoning = "Hm.";    // said first, and closed, where the prompt opens <think>
  engine::FinishReason finish = engine::FinishReason::stop;
  std::chrono::milliseconds delay{0};        // before the first token
  std::chrono::milliseconds token_delay{0};  // before every further one
  int times = 1;                             // how often it may be picked; 0: any number of times
  std::optional<ErrorCode> refuse;           // the request is not admitted

  bool matches(std::string_view prompt) const;
  /// All that is said after `prompt`.
  std::string said(std::string_view prompt) const;
};

class Script {
 public:
  /// Errors: as read_json_file, or usage naming the turn and the field.
  static Result<Script> read(const std::filesystem::path& file);
  static Result<Script> parse(const Json& json);

  /// The first turn that is not used up and matches, and its index. Any thread.
  struct Picked {
    int index;
    Turn turn;
  };
  std::optional<Picked> take(std::string_view prompt);

  Script(Script&& other) noexcept
      : turns_(std::move(other.turns_)), used_(std::move(other.used_)) {}

 private:
  Script() = default;
  std::mutex mutex_;  // guards used_
  std::vector<Turn> turns_;
  std::vector<int> used_;
};

}  // namespace hearth::scripted
