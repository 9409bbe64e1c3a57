// One thing that takes a while, told on stderr: a spinner at a terminal, one plain line otherwise.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "cli/terminal.h"

namespace hearth::cli {

enum class Steps { shown, at_terminal_only, hidden };

class Step {
 public:
  /// @param what  in the present: "Loading SmolLM2"
  Step(Terminal& terminal, std::string what, Steps steps = Steps::shown);
  /// Takes the spinner away if neither done() nor drop() was called.
  ~Step();

  /// Ends it: "Loaded SmolLM2 in 0.4 s". With Steps::at_terminal_only the line is wiped instead.
  void done(std::string_view result);

  double seconds() const;

 private:
  void spin(const std::stop_token& stop);
  void end_spinner();

  Terminal& terminal_;
  std::string what_;
  Steps steps_;
  bool spinning_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace hearth::cli
