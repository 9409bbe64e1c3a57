#include "server/message.h"

#include <gtest/gtest.h>

#include "server/errors.h"

namespace hearth::server {
namespace {

TEST(NormalPath, drops_queries_and_doubled_and_trailing_slashes) {
  EXPECT_EQ(normal_path("/v1/models?limit=2"), "/v1/models");
  EXPECT_EQ(normal_path("//v1//chat/completions/"), "/v1/chat/completions");
  EXPECT_EQ(normal_path("http://host:80/v1/models"), "/v1/models");
  EXPECT_EQ(normal_path("http://host"), "/");
  EXPECT_EQ(normal_path("/"), "/");
  EXPECT_EQ(normal_path("/?x"), "/");
  EXPECT_EQ(normal_path("/a/../b"), "/a/../b");
}

TEST(PercentDecoded, leaves_broken_escapes) {
  EXPECT_EQ(percent_decoded("org%2Fname%20x"), "org/name x");
  EXPECT_EQ(percent_decoded("%zz%4"), "%zz%4");
}

TEST(Status, each_code_has_its_own) {
  EXPECT_EQ(status_of(ErrorCode::invalid_request), 400);
  EXPECT_EQ(status_of(ErrorCode::context_overflow), 400);
  EXPECT_EQ(status_of(ErrorCode::unauthorized), 401);
  EXPECT_EQ(status_of(ErrorCode::forbidden), 403);
  EXPECT_EQ(status_of(ErrorCode::not_found), 404);
  EXPECT_EQ(status_of(ErrorCode::too_large), 413);
  EXPECT_EQ(status_of(ErrorCode::overloaded), 429);
  EXPECT_EQ(status_of(ErrorCode::cancelled), 499);
  EXPECT_EQ(status_of(ErrorCode::internal), 500);
  EXPECT_EQ(status_of(ErrorCode::unsupported), 501);
}

TEST(ReplyHead, says_length_or_chunked) {
  EXPECT_EQ(reply_head(200, "text/plain", {{"X-A", "b"}}, 5, true),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: b\r\nContent-Length: 5\r\n"
            "Connection: keep-alive\r\n\r\n");
  EXPECT_EQ(reply_head(429, "", {}, -1, false),
            "HTTP/1.1 429 Too Many Requests\r\nTransfer-Encoding: chunked\r\n"
            "Connection: close\r\n\r\n");
}

TEST(ErrorReply, says_when_to_come_back) {
  const auto reply = error_reply({ErrorCode::overloaded, "full", ""});
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.headers, (Headers{{"Retry-After", "1"}}));
}

}  // namespace
}  // namespace hearth::server
