#include "services/pool/restart_policy.h"

namespace hearth::services {
namespace {

constexpr std::chrono::seconds window{60}, quick{10}, pause{5};
constexpr std::size_t most_restarts = 3;  // within the window

}  // namespace

std::optional<std::chrono::milliseconds> RestartPolicy::died(Time started, Time now) {
  std::erase_if(deaths_, [&](Time death) { return now - death > window; });
  deaths_.push_back(now);
  if (deaths_.size() > most_restarts) {
    deaths_.clear();
    was_quick_ = false;
    return std::nullopt;
  }
  const bool is_quick = now - started < quick;
  const bool waits = is_quick && was_quick_;
  was_quick_ = is_quick;
  return waits ? std::chrono::milliseconds(pause) : std::chrono::milliseconds(0);
}

}  // namespace hearth::services
