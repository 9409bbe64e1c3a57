#include "server/session.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

TEST(SessionTest, TheFirstOneThatIsSaidCounts) {
  const SessionHeaders headers{.affinity = "c", .session = "d"};
  EXPECT_EQ(cache_session({{"session_id", "a"}, {"prompt_cache_key", "b"}}, headers), "a");
  EXPECT_EQ(cache_session({{"session_id", 7}, {"prompt_cache_key", "b"}}, headers), "b");
  EXPECT_EQ(cache_session(Json::object(), headers), "c");
  EXPECT_EQ(cache_session(Json::object(), {.session = "d"}), "d");
  EXPECT_EQ(cache_session(Json::object(), {}), "");
}

TEST(SessionTest, MessagesKnowClaudeCodesSession) {
  const Json old{{"metadata", {{"user_id", "user_1f_account__session_9a-8b"}}}};
  const Json object{{"metadata", {{"user_id", R"({"device_id":"x","session_id":"9a"})"}}}};
  EXPECT_EQ(cache_session(old, {.messages = true}), "9a-8b");
  EXPECT_EQ(cache_session(object, {.messages = true}), "9a");
  EXPECT_EQ(cache_session(old, {.claude_code = "cc", .messages = true}), "cc");
  EXPECT_EQ(cache_session(old, {.claude_code = "cc", .messages = false}), "");
  EXPECT_EQ(cache_session({{"metadata", {{"user_id", "u1"}}}}, {.messages = true}), "");
}

TEST(SessionTest, HeadersAreRead) {
  HttpRequest request;
  request.path = "/v1/messages";
  request.headers = {{"x-session-affinity", "one"}, {"x-claude-code-session-id", "two"}};
  const auto headers = session_headers(request);
  EXPECT_EQ(headers.affinity, "one");
  EXPECT_EQ(headers.claude_code, "two");
  EXPECT_TRUE(headers.messages);
}

}  // namespace
}  // namespace hearth::server
