// HTTP itself, byte by byte: what is read, what is refused, what a connection survives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "server/server.h"
#include "server/test_client.h"
#include "services/chat/scripted_model.h"

namespace hearth::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::TestClient;

class HttpTest : public ::testing::Test {
 protected:
  static constexpr int most_connections = 8;

  HttpTest() {
    ServerOptions options;
    options.port = 0;
    options.allowed_origins = {"https://app.example"};
    options.limits.body_bytes = 200'000;
    options.limits.bodies_bytes = 250'000;
    options.limits.header_time = 300ms;
    options.limits.body_time = 300ms;
    options.limits.idle_time = 2000ms;
    options.limits.connections = most_connections;
    auto listening = Server::listen(std::move(options));
    if (!listening) return;
    server_ = std::move(*listening);
    server_->set_model(services::testing::scripted_model([](auto&) -> Result<void> {
      return fail(ErrorCode::unsupported, "this model only tokenises");
    }));
  }
  TestClient client() { return TestClient(server_->port()); }

  std::unique_ptr<Server> server_;
};

TEST_F(HttpTest, a_connection_is_kept_and_requests_may_be_pipelined) {
  auto c = client();
  const std::string get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  c.send(get + get + get);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(c.receive().status, 200);
  EXPECT_EQ(c.get("/health").status, 200);
}

TEST_F(HttpTest, connection_close_is_honoured) {
  auto c = client();
  EXPECT_THAT(c.get("/health", "Connection: close\r\n").head, HasSubstr("Connection: close"));
  EXPECT_TRUE(c.closed());
}

TEST_F(HttpTest, http_1_0_closes_by_default) {
  auto c = client();
  c.send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(c.receive().status, 200);
  EXPECT_TRUE(c.closed());
}

TEST_F(HttpTest, head_is_get_without_its_body) {
  auto c = client();
  c.request("HEAD", "/health");
  EXPECT_THAT(c.receive(true).head, HasSubstr("Content-Length: 16"));
  EXPECT_EQ(c.get("/health").status, 200) << "nothing of a body was sent";
}

TEST_F(HttpTest, unknown_paths_are_404_in_json_and_list_the_routes) {
  auto c = client();
  const auto answer = c.get("/v1/none");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.json()["error"]["code"], "not_found");
  EXPECT_THAT(answer.json()["error"]["routes"].dump(), HasSubstr("POST /v1/chat/completions"));
  c.request("HEAD", "/nothing");
  EXPECT_EQ(c.receive(true).status, 404);
}

TEST_F(HttpTest, a_wrong_method_is_405_with_allow) {
  const auto answer = client().get("/v1/chat/completions");
  EXPECT_EQ(answer.status, 405);
  EXPECT_THAT(answer.head, HasSubstr("Allow: OPTIONS, POST"));
  auto c = client();
  c.request("DELETE", "/health");
  EXPECT_THAT(c.receive().head, HasSubstr("Allow: GET, HEAD, OPTIONS"));
}

TEST_F(HttpTest, doubled_slashes_queries_and_a_missing_v1_reach_the_route) {
  for (const char* path : {"//health", "/health/", "/health?x=1", "/v1/", "//v1"}) {
    EXPECT_EQ(client().get(path).status, 200) << path;
  }
  EXPECT_EQ(client().get("/chat/completions").status, 405) << "the alias is known";
}

TEST_F(HttpTest, expect_100_continue_is_answered_before_the_body) {
  auto c = client();
  c.send(
      "POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
      "\r\n");
  EXPECT_THAT(c.receive_head(), HasSubstr("100 Continue"));
  c.send("{}");
  EXPECT_EQ(c.receive().status, 404);
}

TEST_F(HttpTest, a_client_of_http_1_0_is_told_of_no_100) {
  auto old = client();
  old.send(
      "POST /detokenize HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 13\r\n\r\n"
      "{\"tokens\":[]}");
  EXPECT_EQ(old.receive().status, 200);
}

TEST_F(HttpTest, whoever_asks_gets_in_and_the_longest_idle_goes) {
  std::deque<TestClient> crowd;
  for (int i = 0; i < most_connections; ++i) crowd.emplace_back(server_->port());
  EXPECT_EQ(crowd[0].get("/health").status, 200);  // crowd[1] has been idle longest now
  EXPECT_EQ(client().get("/health").status, 200);
  EXPECT_TRUE(crowd[1].closed());
  EXPECT_EQ(crowd[0].get("/health").status, 200);
}

TEST_F(HttpTest, chunked_bodies_are_read) {
  auto c = client();
  c.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "a\r\n{\"content\"\r\n6\r\n:\"hi\"}\r\n0\r\n\r\n");
  EXPECT_EQ(c.receive().json()["count"], 2);
  EXPECT_EQ(c.get("/health").status, 200) << "the body was taken whole";
}

TEST_F(HttpTest, a_post_without_a_length_is_411) {
  auto c = client();
  c.send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(c.receive().status, 411);
  EXPECT_TRUE(c.closed());
}

TEST_F(HttpTest, a_body_over_the_limit_is_413_whether_told_or_chunked) {
  auto told = client();
  told.send("POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200001\r\n\r\n");
  EXPECT_EQ(told.receive().status, 413);
  auto chunked = client();
  chunked.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "40000\r\n" +
      std::string(0x40000, 'x') + "\r\n0\r\n\r\n");
  const auto answer = chunked.receive();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.json()["error"]["type"], "request_too_large");
}

TEST_F(HttpTest, what_will_be_refused_is_refused_before_a_large_body_is_sent) {
  auto c = client();
  c.send(
      "POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 150000\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.receive().status, 404);
  EXPECT_TRUE(c.closed());
}

TEST_F(HttpTest, bodies_that_do_not_fit_together_are_429_until_there_is_room) {
  const std::string head =
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 150000\r\n\r\n";
  auto first = client();
  first.send(head + "{");
  auto second = client();
  second.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(second.receive().status, 200);
  second.send(head);
  EXPECT_EQ(second.receive().status, 429);
  first.close();
  for (int i = 0; i < 100; ++i) {  // the server may notice a moment later
    auto third = client();
    third.send(
        "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 150000\r\n"
        "Expect: 100-continue\r\n\r\n");
    const auto answer = third.receive_head();
    if (answer.find("100 Continue") != std::string::npos) return;
    std::this_thread::sleep_for(10ms);
  }
  ADD_FAILURE() << "the room of the first was never given back";
}

TEST_F(HttpTest, headers_over_64_kib_are_431) {
  auto c = client();
  c.send("GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(c.receive().status, 431);
}

TEST_F(HttpTest, what_is_not_http_is_400_in_json) {
  for (const char* text :
       {"hello\r\n\r\n", "GET /health HTTP/9.9\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        "GET /health HTTP/1.1\r\nbad header\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    auto c = client();
    c.send(text);
    const auto answer = c.receive();
    EXPECT_EQ(answer.status, 400) << text;
    EXPECT_EQ(answer.json()["error"]["type"], "invalid_request_error") << text;
  }
}

TEST_F(HttpTest, slow_headers_are_408) {
  auto c = client();
  c.send("GET /health HT");
  EXPECT_EQ(c.receive().status, 408);
  EXPECT_TRUE(c.closed());
}

TEST_F(HttpTest, slow_bodies_are_408) {
  auto c = client();
  c.send("POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{");
  EXPECT_EQ(c.receive().status, 408);
}

TEST_F(HttpTest, a_body_cut_off_by_its_client_frees_the_connection) {
  auto c = client();
  c.send("POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{");
  c.close();
  EXPECT_EQ(client().get("/health").status, 200);
}

TEST_F(HttpTest, several_hosts_are_refused) {
  const auto answer = client().get("/health", "Host: evil.example\r\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(answer.says("one Host header"));
}

TEST_F(HttpTest, foreign_hosts_are_refused) {
  auto c = client();
  c.send("GET /v1 HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(c.receive().status, 403);
  auto none = client();
  none.send("GET /v1 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(none.receive().status, 400);
}

TEST_F(HttpTest, cors_on_preflights_answers_and_errors_of_listed_origins_only) {
  auto c = client();
  c.request("OPTIONS", "/v1/chat/completions", {},
            "Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n"
            "Access-Control-Request-Headers: authorization, x-stainless-os\r\n");
  const auto preflight = c.receive(true);
  EXPECT_EQ(preflight.status, 204);
  EXPECT_THAT(preflight.head, HasSubstr("Access-Control-Allow-Origin: https://app.example"));
  EXPECT_THAT(preflight.head,
              HasSubstr("Access-Control-Allow-Headers: authorization, x-stainless-os"));
  const auto failed = c.get("/none", "Origin: https://app.example\r\n");
  EXPECT_THAT(failed.head, HasSubstr("Access-Control-Allow-Origin: https://app.example"));
  const auto foreign = c.get("/health", "Origin: https://evil.example\r\n");
  EXPECT_THAT(foreign.head, ::testing::Not(HasSubstr("Access-Control-Allow-Origin")));
}

TEST_F(HttpTest, the_page_comes_with_a_strict_policy) {
  const auto page = client().get("/");
  EXPECT_THAT(page.body, HasSubstr("<title>hearth</title>"));
  EXPECT_THAT(page.head, HasSubstr("default-src 'none'; script-src 'self'"));
  EXPECT_THAT(client().get("/app.js").head, HasSubstr("text/javascript"));
  EXPECT_THAT(client().get("/app.css").head, HasSubstr("text/css"));
}

}  // namespace
}  // namespace hearth::server
