// One log, on stderr. Libraries log here; they never print.
#pragma once

#include <spdlog/spdlog.h>

#include <memory>
#include <string_view>

namespace hearth::log {

using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::trace;
using spdlog::warn;

enum class Format { text, json };

/// Sets level ("error", "warn", "info", "debug", "trace") and format. Call once, at start.
/// @return false if the level is not one of these
bool configure(std::string_view level, Format format);

/// How lines look; a JSON line is one object, whatever the message holds.
std::unique_ptr<spdlog::formatter> formatter(Format format);

}  // namespace hearth::log
