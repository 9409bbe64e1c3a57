// When a process that died is started anew: at once, after a while, or not at all.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace hearth::services {

class RestartPolicy {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  /// It is started anew three times within a minute, and after two deaths in a row within 10 s of
  /// their start 5 s later. The fourth death is answered by giving up; then it begins anew.
  /// @return how long to wait; none: give up
  std::optional<std::chrono::milliseconds> died(Time started, Time now);

 private:
  std::vector<Time> deaths_;  // of the last minute
  bool was_quick_ = false;
};

}  // namespace hearth::services
