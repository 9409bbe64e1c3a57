// One log, on stderr. Libraries log here; they never print.
//
// The messages are formatted here and handed on as text, so that only log.cpp sees spdlog: its
// templates cost seconds in every file that includes them.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <string_view>
#include <utility>

namespace spdlog {
class formatter;
}

namespace hearth::log {

enum class Level { trace, debug, info, warn, error };
enum class Format { text, json };

/// Sets level ("error", "warn", "info", "debug", "trace") and format. Call once, at start.
/// @return false if the level is not one of these
bool configure(std::string_view level, Format format);

/// How lines look; a JSON line is one object, whatever the message holds.
std::unique_ptr<spdlog::formatter> formatter(Format format);

bool enabled(Level level);
void write(Level level, std::string_view message);

/// Formats as fmt::format does, and only when the level is on.
template <class... Args>
void line(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::debug, format, std::forward<Args>(args)...);
}

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::info, format, std::forward<Args>(args)...);
}

template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::warn, format, std::forward<Args>(args)...);
}

template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::error, format, std::forward<Args>(args)...);
}

}  // namespace hearth::log
