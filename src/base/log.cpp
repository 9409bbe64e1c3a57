#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <string>

#include "base/json.h"

namespace hearth::log {
namespace {

/// The flag %J: the message as a JSON string.
class JsonMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const Json text(std::string(message.payload.data(), message.payload.size()));
    const std::string quoted = text.dump(-1, ' ', false, Json::error_handler_t::replace);
    out.append(quoted.data(), quoted.data() + quoted.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::trace:
      return spdlog::level::trace;
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

bool enabled(Level level) { return spdlog::should_log(spdlog_level(level)); }

void write(Level level, std::string_view message) {
  spdlog::log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
}

std::unique_ptr<spdlog::formatter> formatter(Format format) {
  auto made = std::make_unique<spdlog::pattern_formatter>();
  made->add_flag<JsonMessage>('J').set_pattern(
      format == Format::json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%J})"
                             : "%H:%M:%S.%e %^%l%$ %v");
  return made;
}

bool configure(std::string_view level, Format format) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") return false;
  auto logger = std::make_shared<spdlog::logger>(
      "hearth", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_formatter(formatter(format));
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  return true;
}

}  // namespace hearth::log
