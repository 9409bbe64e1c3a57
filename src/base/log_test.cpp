#include "base/log.h"

#include <gtest/gtest.h>
#include <spdlog/formatter.h>

#include "base/json.h"

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

TEST(Log, ATextLineHoldsTheMessage) {
  EXPECT_NE(line(Format::text, "so it is").find("so it is"), std::string::npos);
}

}  // namespace
}  // namespace hearth::log
