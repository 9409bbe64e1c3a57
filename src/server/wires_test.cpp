// Messages, Responses and Ollama over a loopback socket, with a model whose engine is a script:
// what only time and the connection show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "server/server.h"
#include "server/test_client.h"
#include "services/chat/scripted_model.h"

namespace hearth::server {
namespace {

using namespace std::chrono_literals;
using services::testing::ScriptedRow;
using testing::Answered;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TestClient;

class WiresTest : public ::testing::Test {
 protected:
  WiresTest() {
    ServerOptions options;
    options.port = 0;
    options.limits.ping_interval = 20ms;
    options.limits.body_bytes = 4096;
    auto listening = Server::listen(std::move(options));
    EXPECT_TRUE(listening);
    server_ = std::move(*listening);
    server_->set_model(services::testing::scripted_model([this](ScriptedRow& row) {
      row_.set_value(row);
      return Result<void>();
    }));
  }

  TestClient client() { return TestClient(server_->port()); }

  ScriptedRow row() {
    auto submitted = row_.get_future();
    if (submitted.wait_for(20s) != std::future_status::ready) {
      throw std::runtime_error("no row was submitted");
    }
    return submitted.get();
  }

  /// What a stream sends when the row says nothing for a while, then "Hi".
  std::string after_silence(std::string_view path, const Json& body) {
    auto asking = client();
    asking.request("POST", path, body.dump());
    auto submitted = row();
    std::this_thread::sleep_for(120ms);
    submitted.say("Hi");
    submitted.finish();
    return asking.receive().body;
  }

  static int count(const std::string& text, std::string_view part) {
    int n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
  }

  std::promise<ScriptedRow> row_;  // the one of the test
  std::unique_ptr<Server> server_;
};

const Json question = {{{"role", "user"}, {"content", "hi"}}};

TEST_F(WiresTest, messages_pings_are_events) {
  const auto stream = after_silence("/v1/messages", {{"messages", question}, {"stream", true}});
  EXPECT_GE(count(stream, "event: ping\ndata: {\"type\":\"ping\"}\n\n"), 3) << stream;
  EXPECT_THAT(stream, Not(HasSubstr(": keep-alive")));
}

TEST_F(WiresTest, responses_pings_are_events_too) {
  const auto stream = after_silence("/v1/responses", {{"input", "hi"}, {"stream", true}});
  EXPECT_GE(count(stream, "event: response.in_progress\n"), 3) << stream;
  EXPECT_THAT(stream, Not(HasSubstr(": keep-alive")));
  EXPECT_THAT(stream, HasSubstr("event: response.completed\n"));
}

TEST_F(WiresTest, ollamas_pings_are_lines_that_add_nothing) {
  const auto stream = after_silence("/api/chat", {{"messages", question}});
  EXPECT_GE(count(stream, "\"content\":\"\"},\"done\":false}\n"), 3) << stream;
}

TEST_F(WiresTest, a_body_that_is_too_large_is_refused_in_the_wires_own_words) {
  const Json large{{"prompt", std::string(5000, 'x')}};
  const auto messages = client().post("/v1/messages", large);
  EXPECT_EQ(messages.status, 413);
  EXPECT_EQ(messages.json()["error"]["type"], "request_too_large");
  const auto ollama = client().post("/api/generate", large);
  EXPECT_EQ(ollama.status, 413);
  EXPECT_TRUE(ollama.json()["error"].is_string());
  EXPECT_TRUE(client().post("/v1/completions", large).json()["error"].contains("param"));
}

TEST_F(WiresTest, counting_tokens_does_not_wait_for_generation) {
  auto busy = client();
  busy.request("POST", "/v1/messages", Json{{"messages", question}, {"stream", true}}.dump());
  auto running = row();
  const auto counted = client().post("/v1/messages/count_tokens", {{"messages", question}});
  EXPECT_EQ(counted.json()["input_tokens"], running.job.prompt.size());
  running.finish();
  EXPECT_THAT(busy.receive().body, HasSubstr("event: message_stop"));
}

TEST_F(WiresTest, a_response_that_nobody_waited_for_is_not_stored) {
  auto asking = client();
  asking.request("POST", "/v1/responses", Json{{"input", "hi"}, {"stream", true}}.dump());
  auto running = row();
  asking.receive_head();
  asking.close();
  for (int i = 0; i < 200 && !running.stream->cancelled(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(running.stream->cancelled());
  running.finish();
  EXPECT_EQ(client().get("/stats").json()["response_store"]["entries"], 0);
}

TEST_F(WiresTest, an_answer_is_stored_before_the_client_learns_its_end) {
  auto asking = client();
  asking.request("POST", "/v1/responses", Json{{"input", "hi"}}.dump());
  auto running = row();
  running.say("Hello");
  running.finish();
  const Json answer = asking.receive().json();
  const auto shown = client().get("/v1/responses/" + answer["id"].get<std::string>());
  EXPECT_EQ(shown.json(), answer);
}

}  // namespace
}  // namespace hearth::server
