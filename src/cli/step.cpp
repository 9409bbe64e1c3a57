#include "cli/step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <mutex>

namespace hearth::cli {
namespace {

void raw(std::string_view text) {
  while (::write(STDERR_FILENO, text.data(), text.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace

Step::Step(Terminal& terminal, std::string what, Steps steps)
    : terminal_(terminal), what_(std::move(what)), steps_(steps),
      spinning_(steps != Steps::hidden && terminal.err_is_terminal() && terminal.colour_err()) {
  if (spinning_) thread_ = std::jthread([this](const std::stop_token& stop) { spin(stop); });
}

Step::~Step() { end_spinner(); }

void Step::spin(const std::stop_token& stop) {
  using namespace std::chrono_literals;
  static constexpr std::array frames{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  for (std::size_t i = 0; !stop.stop_requested(); ++i) {
    raw(fmt::format("\r\x1b[36m{}\x1b[0m {}\x1b[K", frames[i % frames.size()], what_));
    wake.wait_for(lock, stop, 90ms, [] { return false; });
  }
}

void Step::end_spinner() {
  if (!spinning_) return;
  spinning_ = false;
  thread_.request_stop();
  thread_.join();
  raw("\r\x1b[K");
}

void Step::done(std::string_view result) {
  end_spinner();
  if (steps_ == Steps::shown) {
    terminal_.note(terminal_.colour_err()
                       ? fmt::format("{} {}", terminal_.paint_err("✓", Style::green), result)
                       : std::string(result));
  }
}

double Step::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace hearth::cli
