#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <string>

#include "base/log_event.h"

namespace hearth::log {
namespace {

/// Of the event that this thread is logging; sinks format on the thread that logs.
thread_local const Json* event_fields = nullptr;

std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Plain words as they are, all else as JSON.
std::string field_text(const Json& value) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:*@+";
  if (!value.is_string()) return json_text(value);
  const auto& text = value.get_ref<const std::string&>();
  const bool bare = !text.empty() && text.find_first_not_of(plain) == text.npos;
  return bare ? text : json_text(value);
}

/// The flag %K: the event's fields, in the form of the line.
class Fields : public spdlog::custom_flag_formatter {
 public:
  explicit Fields(Format format) : format_(format) {}
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    if (!event_fields) return;
    for (const auto& [name, value] : event_fields->items()) {
      const std::string text = format_ == Format::json
                                   ? "," + json_text(name) + ":" + json_text(value)
                                   : " " + name + "=" + field_text(value);
      out.append(text.data(), text.data() + text.size());
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Fields>(format_);
  }

 private:
  const Format format_;
};

/// The flag %J: the message as a JSON string.
class JsonMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const Json text(std::string(message.payload.data(), message.payload.size()));
    const std::string quoted = json_text(text);
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
  made->add_flag<JsonMessage>('J').add_flag<Fields>('K', format);
  made->set_pattern(format == Format::json
                        ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%J%K})"
                        : "%H:%M:%S.%e %^%l%$ %v%K");
  return made;
}

void event(std::string_view message, const Json& fields) {
  event_fields = &fields;
  write(Level::info, message);
  event_fields = nullptr;
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

namespace {

/// Who never configures it has it on stderr too: stdout is the program's own.
[[maybe_unused]] const bool on_stderr = configure("info", Format::text);

}  // namespace
}  // namespace hearth::log
