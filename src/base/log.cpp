#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <string>

namespace hearth::log {

bool configure(std::string_view level, Format format) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") return false;
  auto logger = std::make_shared<spdlog::logger>(
      "hearth", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern(format == Format::json
                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":"%v"})"
                          : "%H:%M:%S.%e %^%l%$ %v");
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  return true;
}

}  // namespace hearth::log
