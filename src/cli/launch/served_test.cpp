#include "cli/launch/served.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

TEST(BaseUrl, is_taken_with_and_without_scheme_and_path) {
  for (const char* text : {"http://127.0.0.1:8080", "http://127.0.0.1:8080/", "127.0.0.1:8080",
                           "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/"}) {
    const auto base = parse_base_url(text);
    ASSERT_TRUE(base) << text;
    EXPECT_EQ(base->url, "http://127.0.0.1:8080") << text;
    EXPECT_TRUE(base->on_this_machine()) << text;
  }
  const auto v6 = parse_base_url("http://[::1]:9000/v1");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, "9000");
  EXPECT_TRUE(v6->on_this_machine());
  const auto remote = parse_base_url("https://models.example");
  ASSERT_TRUE(remote);
  EXPECT_EQ(remote->port, "443");
  EXPECT_FALSE(remote->on_this_machine());
}

TEST(BaseUrl, what_is_none_is_refused) {
  for (const char* text : {"", "http://", "ftp://x", "http://a b", "http://x:port", "http://x/y",
                           "http://user@x", "http://x:123456", "http://:80"}) {
    EXPECT_FALSE(parse_base_url(text)) << text;
  }
}

TEST(AskServed, nobody_there_and_https_are_not_found) {
  EXPECT_EQ(ask_served(*parse_base_url("127.0.0.1:1"), "", std::chrono::seconds(1)).error().code,
            ErrorCode::not_found);
  EXPECT_EQ(ask_served(*parse_base_url("https://x"), "", std::chrono::seconds(1)).error().code,
            ErrorCode::not_found);
}

}  // namespace
}  // namespace hearth::cli
