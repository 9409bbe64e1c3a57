// How many tokens a step may carry while streams wait for their next token: as many as are computed
// in a bounded time, from what the steps before took. Plain arithmetic; the clock is the caller's.
#pragma once

namespace hearth::engine {

class Pace {
 public:
  static constexpr double bound_seconds = 0.25;  // that a step should take at most
  static constexpr int least_tokens = 32;        // of a step, however slow; a prompt must get on
  static constexpr int first_tokens = 64;        // until something was measured

  /// @param most  tokens of a step that nobody waits for, > 0
  explicit Pace(int most) : most_(most) {}

  /// Most tokens of the next step. @param waited_for  whether a row decodes
  int budget(bool waited_for) const;

  /// A step of `tokens` tokens took `seconds`. Steps of few tokens, whose time their number does
  /// not set, are not counted.
  void took(int tokens, double seconds);

 private:
  const int most_;
  double token_seconds_ = 0;  // recent steps count more; 0: nothing was measured
};

}  // namespace hearth::engine
