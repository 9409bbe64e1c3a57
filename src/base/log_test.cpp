#include "base/log.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "base/log_event.h"

namespace hearth::log {
namespace {

std::string line(Format format, std::string_view message) {
  spdlog::memory_buf_t out;
  formatter(format)->format({"hearth", spdlog::level::warn, {message.data(), message.size()}}, out);
  return {out.data(), out.size()};
}

TEST(Log, AJsonLineIsOneObjectWhateverTheMessage) {
  const std::string message = "a \"quoted\"\nline with \\ and \xff";
  const std::string text = line(Format::json, message);
  ASSERT_EQ(text.find('\n'), text.size() - 1);
  const auto json = parse_json(text);
  ASSERT_TRUE(json) << text;
  EXPECT_EQ((*json)["message"], "a \"quoted\"\nline with \\ and \uFFFD");
  EXPECT_EQ((*json)["level"], "warning");
}

/// What an event, and a plain line after it, look like.
std::string event_lines(Format format, const Json& fields) {
  std::ostringstream out;
  auto before = spdlog::default_logger();
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(out);
  auto logger = std::make_shared<spdlog::logger>("test", sink);
  logger->set_formatter(formatter(format));
  spdlog::set_default_logger(logger);
  event("request", fields);
  info("plain");
  spdlog::set_default_logger(before);
  return out.str();
}

const Json some_fields{
    {"path", "/a b\"\n"}, {"route", "/v1/models/*"}, {"status", 200}, {"ms", 1.5}};

TEST(Log, AnEventsFieldsAreMembersOfTheJsonLine) {
  std::istringstream lines(event_lines(Format::json, some_fields));
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  const Json json = Json::parse(first);
  EXPECT_EQ(json["message"], "request");
  EXPECT_EQ(json["path"], "/a b\"\n");
  EXPECT_EQ(json["status"], 200);
  EXPECT_EQ(json["ms"], 1.5);
  EXPECT_EQ(Json::parse(second).size(), 3u) << second;
}

TEST(Log, AnEventsFieldsFollowTheMessageOfTheTextLine) {
  EXPECT_NE(event_lines(Format::text, some_fields)
                .find(R"( request path="/a b\"\n" route=/v1/models/* status=200 ms=1.5)"),
            std::string::npos);
}

TEST(Log, ATextLineHoldsTheMessage) {
  EXPECT_NE(line(Format::text, "so it is").find("so it is"), std::string::npos);
}

}  // namespace
}  // namespace hearth::log
