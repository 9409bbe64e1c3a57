// The whole server on a loopback socket, with a model whose engine is a script.
#include "server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

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

/// Rows as they are submitted, for the test's thread to answer.
class Rows {
 public:
  Result<void> submit(ScriptedRow& row) {
    const std::scoped_lock lock(mutex_);
    if (full) return fail(ErrorCode::overloaded, "the queue is full");
    rows_.push_back(row);
    arrived_.notify_all();
    return {};
  }
  ScriptedRow next() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, 20s, [this] { return !rows_.empty(); })) {
      throw std::runtime_error("no row was submitted");
    }
    ScriptedRow row = rows_.front();
    rows_.pop_front();
    return row;
  }
  std::atomic<bool> full = false;

 private:
  std::mutex mutex_;  // guards rows_
  std::condition_variable arrived_;
  std::deque<ScriptedRow> rows_;
};

class ServerTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.port = 0;
    auto listening = Server::listen(std::move(options));
    ASSERT_TRUE(listening) << listening.error().message;
    server_ = std::move(*listening);
  }
  void load() {
    server_->set_model(
        services::testing::scripted_model([this](ScriptedRow& row) { return rows_.submit(row); }));
  }
  void start_loaded(ServerOptions options = {}) {
    start(std::move(options));
    load();
  }
  TestClient client() { return TestClient(server_->port()); }

  static Json chat(bool stream = false) {
    return {{"messages", {{{"role", "user"}, {"content", "hi"}}}}, {"stream", stream}};
  }
  /// Waits until the engine's side sees that the row is not wanted any more.
  static bool cancelled_soon(const ScriptedRow& row) {
    for (int i = 0; i < 200 && !row.stream->cancelled(); ++i) std::this_thread::sleep_for(10ms);
    return row.stream->cancelled();
  }

  Rows rows_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, health_is_exactly_mlx_lms_bytes_before_any_model_is_loaded) {
  start();
  EXPECT_EQ(client().get("/health").body, "{\"status\": \"ok\"}");
  EXPECT_EQ(client().get("/v1").json()["model"], nullptr);
}

TEST_F(ServerTest, a_request_waits_for_the_model) {
  start();
  auto waiting = client();
  waiting.request("POST", "/v1/chat/completions", chat().dump());
  std::this_thread::sleep_for(50ms);
  load();
  auto row = rows_.next();
  row.say("late");
  row.finish();
  EXPECT_EQ(waiting.receive().json()["choices"][0]["message"]["content"], "late");
}

TEST_F(ServerTest, a_model_that_cannot_be_loaded_ends_the_server_with_that_error) {
  start();
  server_->stop_on_signals();
  auto waiting = client();
  waiting.request("POST", "/v1/chat/completions", chat().dump());
  std::this_thread::sleep_for(50ms);
  server_->fail({ErrorCode::corrupt_file, "model.safetensors is cut off", ""});
  const auto answer = waiting.receive();
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, HasSubstr("cut off"));
  EXPECT_EQ(server_->wait().error().code, ErrorCode::corrupt_file);
}

TEST_F(ServerTest, streamed_text_joined_is_the_text_of_the_plain_answer) {
  start_loaded();
  const std::string said = "naïve 東京 🚀 END";
  auto plain = client();
  plain.request("POST", "/v1/chat/completions", chat().dump());
  auto row = rows_.next();
  row.say(said);
  row.finish();
  const auto body = plain.receive();

  auto streamed = client();
  streamed.request("POST", "/v1/chat/completions", chat(true).dump());
  row = rows_.next();
  for (const char byte : said) row.say({&byte, 1});
  row.finish();
  const auto stream = streamed.receive();
  EXPECT_THAT(stream.head, HasSubstr("Content-Type: text/event-stream"));
  std::string joined;
  std::istringstream lines(stream.body);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("data: {")) continue;
    const Json chunk = Json::parse(line.substr(6));
    joined += chunk["choices"][0]["delta"].value("content", "");
  }
  EXPECT_EQ(joined, said);
  EXPECT_EQ(body.json()["choices"][0]["message"]["content"], said);
  EXPECT_TRUE(stream.body.ends_with("data: [DONE]\n\n"));
}

TEST_F(ServerTest, a_stop_string_cancels_the_row_at_once) {
  start_loaded();
  auto asking = client();
  Json body = chat();
  body["stop"] = "STOP";
  asking.request("POST", "/v1/chat/completions", body.dump());
  auto row = rows_.next();
  row.say("one STOP two");
  EXPECT_TRUE(cancelled_soon(row));
  row.finish();
  const Json choice = asking.receive().json()["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "one ");
  EXPECT_EQ(choice["finish_reason"], "stop");
}

TEST_F(ServerTest, a_client_that_leaves_cancels_its_row) {
  start_loaded();
  for (const bool stream : {false, true}) {
    auto leaving = client();
    leaving.request("POST", "/v1/chat/completions", chat(stream).dump());
    auto row = rows_.next();
    row.say("some");
    leaving.close();
    EXPECT_TRUE(cancelled_soon(row)) << "stream: " << stream;
    row.finish();
  }
}

TEST_F(ServerTest, pings_while_nothing_is_produced) {
  ServerOptions options;
  options.limits.ping_interval = 20ms;
  start_loaded(std::move(options));
  auto waiting = client();
  waiting.request("POST", "/v1/chat/completions", chat(true).dump());
  EXPECT_THAT(waiting.receive_head(), HasSubstr("200 OK"));
  EXPECT_THAT(waiting.receive_chunk(), HasSubstr("\"role\":\"assistant\""));
  EXPECT_EQ(waiting.receive_chunk(), ": keep-alive\n\n");
  EXPECT_EQ(waiting.receive_chunk(), ": keep-alive\n\n");
  rows_.next().finish();
}

TEST_F(ServerTest, a_slow_client_is_dropped_and_its_row_cancelled) {
  ServerOptions options;
  options.limits.write_time = 200ms;
  start_loaded(std::move(options));
  auto slow = client();
  slow.request("POST", "/v1/chat/completions", chat(true).dump());
  auto row = rows_.next();
  const std::string text(1000, 'x');
  for (int i = 0; i < 100'000 && !row.stream->cancelled(); ++i) row.say(text);
  EXPECT_TRUE(cancelled_soon(row));
  row.finish();
}

TEST_F(ServerTest, an_engine_error_before_text_is_a_500_and_in_a_stream_a_frame_without_done) {
  start_loaded();
  auto plain = client();
  plain.request("POST", "/v1/chat/completions", chat().dump());
  rows_.next().finish(engine::FinishReason::error);
  EXPECT_EQ(plain.receive().status, 500);
  auto streamed = client();
  streamed.request("POST", "/v1/chat/completions", chat(true).dump());
  rows_.next().finish(engine::FinishReason::error);
  const auto stream = streamed.receive();
  EXPECT_THAT(stream.body, HasSubstr("data: {\"error\":{\"message\":\"the script failed\""));
  EXPECT_THAT(stream.body, Not(HasSubstr("[DONE]")));
}

TEST_F(ServerTest, a_full_queue_is_429_with_retry_after) {
  start_loaded();
  rows_.full = true;
  const auto answer = client().post("/v1/chat/completions", chat());
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(answer.head, HasSubstr("Retry-After: 1"));
  EXPECT_EQ(answer.json()["error"]["code"], "queue_full");
}

TEST_F(ServerTest, n_choices_come_with_seeds_of_their_own) {
  start_loaded();
  auto asking = client();
  Json body = chat();
  body["n"] = 3;
  body["seed"] = 7;
  asking.request("POST", "/v1/chat/completions", body.dump());
  for (int i = 0; i < 3; ++i) {
    auto row = rows_.next();
    EXPECT_EQ(row.job.sampling.seed, 7u + unsigned(i));
    row.say(std::string(1, char('a' + i)));
    row.finish();
  }
  const Json answer = asking.receive().json();
  ASSERT_EQ(answer["choices"].size(), 3u);
  EXPECT_EQ(answer["choices"][2]["message"]["content"], "c");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 21);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], std::string("user: hi\nassistant: ").size());
}

TEST_F(ServerTest, stop_lets_streams_end_and_then_all_is_over) {
  start_loaded();
  auto streaming = client();
  auto idle = client();
  idle.get("/health");
  streaming.request("POST", "/v1/chat/completions", chat(true).dump());
  auto row = rows_.next();
  row.say("first ");
  server_->stop();
  EXPECT_TRUE(idle.closed());
  row.say("last");
  row.finish();
  const auto stream = streaming.receive();
  EXPECT_THAT(stream.body, HasSubstr("[DONE]"));
  const auto end = std::chrono::steady_clock::now();
  EXPECT_TRUE(server_->wait());
  EXPECT_LT(std::chrono::steady_clock::now() - end, 5s) << "nothing was left to wait for";
  EXPECT_THROW(client(), boost::system::system_error) << "the port is closed";
}

TEST_F(ServerTest, what_does_not_end_in_time_gets_an_error_frame) {
  ServerOptions options;
  options.shutdown_limit = 50ms;
  start_loaded(std::move(options));
  auto streaming = client();
  streaming.request("POST", "/v1/chat/completions", chat(true).dump());
  auto row = rows_.next();
  row.say("never ");
  server_->stop();
  const auto stream = streaming.receive();
  EXPECT_THAT(stream.body, HasSubstr("the server was stopped"));
  EXPECT_THAT(stream.body, Not(HasSubstr("[DONE]")));
  EXPECT_TRUE(cancelled_soon(row));
  row.finish();
  EXPECT_EQ(server_->wait().error().code, ErrorCode::cancelled);
}

TEST_F(ServerTest, the_port_of_a_running_server_is_refused_naming_its_model) {
  start_loaded();
  client().get("/v1/models");  // the model has arrived
  ServerOptions second;
  second.port = server_->port();
  const auto refused = Server::listen(second);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io);
  EXPECT_THAT(refused.error().message, HasSubstr("serving scripted"));
}

TEST_F(ServerTest, a_key_protects_all_but_health_and_the_page) {
  ServerOptions options;
  options.api_key = "secret";
  start_loaded(std::move(options));
  EXPECT_EQ(client().get("/v1/models").status, 401);
  EXPECT_EQ(client().get("/v1/models").json()["error"]["code"], "invalid_api_key");
  EXPECT_EQ(client().get("/v1/models", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(client().get("/health").status, 200);
  EXPECT_EQ(client().get("/").status, 200);
  EXPECT_EQ(client().get("/app.js").status, 200);
}

TEST_F(ServerTest, models_are_listed_and_shown_by_id) {
  ServerOptions options;
  options.served_name = "org/mine";
  start_loaded(std::move(options));
  const Json list = client().get("/v1/models").json();
  EXPECT_EQ(list["data"][0]["id"], "org/mine");
  EXPECT_EQ(list["data"][0]["context_window"], 4096);
  EXPECT_EQ(client().get("/v1/models/org/mine").json()["id"], "org/mine");
  EXPECT_EQ(client().get("/v1/models/org%2Fmine").json()["id"], "org/mine");
  const auto unknown = client().get("/v1/models/other");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json()["error"]["code"], "model_not_found");
}

TEST_F(ServerTest, tokens_go_there_and_back) {
  start_loaded();
  const Json there = client().post("/tokenize", {{"content", "hé"}}).json();
  EXPECT_EQ(there["tokens"], Json({104, 195, 169}));
  EXPECT_EQ(client().post("/detokenize", {{"tokens", there["tokens"]}}).json()["content"], "hé");
  const Json pieces = client().post("/tokenize", {{"content", "hé"}, {"with_pieces", true}}).json();
  EXPECT_EQ(pieces["tokens"][0]["piece"], "h");
  EXPECT_EQ(pieces["tokens"][1]["piece"], Json::array({195}));
  EXPECT_EQ(client().post("/detokenize", {{"tokens", {999}}}).status, 400);
  EXPECT_EQ(client().post("/tokenize", chat()).json()["count"],
            std::string("user: hi\nassistant: ").size());
}

TEST_F(ServerTest, an_echo_with_logprobs_waits_for_the_prompts_scores) {
  start_loaded();
  auto asking = client();
  asking.request("POST", "/v1/completions",
                 R"({"prompt":"ab","echo":true,"logprobs":1,"max_tokens":1})");
  auto row = rows_.next();
  EXPECT_TRUE(row.job.score_prompt);
  engine::ScoredPrompt scores;
  scores.tokens = {{.id = 'a', .logprob = NAN, .top = {}},
                   {.id = 'b', .logprob = -1.5f, .top = {{'c', -0.5f}}}};
  row.stream->push(scores);
  row.say("x");
  row.finish();
  const Json choice = asking.receive().json()["choices"][0];
  EXPECT_EQ(choice["text"], "abx");
  EXPECT_EQ(choice["logprobs"]["tokens"], Json({"a", "b", "x"}));
  EXPECT_EQ(choice["logprobs"]["token_logprobs"], Json::parse("[null,-1.5,-0.5]"));
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][1], Json::parse(R"({"c":-0.5})"));
}

TEST_F(ServerTest, metrics_count_what_was_asked_and_answered) {
  start_loaded();
  auto asking = client();
  asking.request("POST", "/v1/chat/completions", chat().dump());
  auto row = rows_.next();
  row.say("x");
  row.finish();
  asking.receive();
  const auto text = client().get("/metrics").body;
  EXPECT_THAT(text,
              HasSubstr("hearth_requests_total{route=\"/v1/chat/completions\",status=\"200\"} 1"));
  EXPECT_THAT(text, HasSubstr("hearth_completion_tokens_total 7"));
  EXPECT_THAT(text, HasSubstr("hearth_time_to_first_token_seconds_count 1"));
  EXPECT_THAT(text, HasSubstr("hearth_answers_total{outcome=\"stop\"} 1"));
  EXPECT_THAT(text, HasSubstr("model=\"scripted\"} 1"));
}

}  // namespace
}  // namespace hearth::server
