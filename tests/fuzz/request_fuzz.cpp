// Broken requests of every wire against the server itself, its engine a script that says what each
// answer's mask allows: a 200 or a 4xx with a message, never a crash, a 5xx, an exception or a
// hang. Bodies are valid ones changed in a few places, or in a few bytes; heads and chunks are
// changed in bytes. The multipart forms of the audio routes are fuzzed with those routes.
//
// request_fuzz [SECONDS [SEED]], 5 seconds unless HEARTH_FUZZ_SECONDS is set; ends with 1 and the
// request that failed at the first finding.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "base/log.h"
#include "mutator.h"
#include "server/server.h"
#include "server/test_client.h"
#include "services/chat/request_bodies.h"
#include "services/chat/scripted_model.h"

namespace hearth::fuzz {
namespace {

namespace bodies = services::testing;
using server::testing::Answered;
using server::testing::TestClient;
using services::testing::ByteTokenizer;
using services::testing::ScriptedRow;

struct Target {
  std::string path;
  Json body;
};

/// The Responses body that goes on from none before it.
Json first_response() {
  Json body = Json::parse(bodies::responses_body);
  body.erase("previous_response_id");
  return body;
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all{
      {"/v1/chat/completions", Json::parse(bodies::chat_body)},
      {"/v1/completions", Json::parse(bodies::completion_body)},
      {"/v1/messages", Json::parse(bodies::messages_body)},
      {"/v1/messages/count_tokens", Json::parse(bodies::messages_body)},
      {"/v1/responses", first_response()},
      {"/v1/responses/input_tokens", first_response()},
      {"/api/chat", Json::parse(bodies::ollama_chat_body)},
      {"/api/generate", Json::parse(bodies::ollama_generate_body)},
      {"/api/show", Json::parse(R"({"model":"scripted","verbose":true})")},
      {"/tokenize", Json::parse(R"({"content":"hi","add_special":true,"with_pieces":true})")},
      {"/tokenize", Json::parse(bodies::chat_body)},
      {"/detokenize", Json::parse(R"({"tokens":[1,2,256]})")},
  };
  return all;
}

/// Says up to 40 tokens: any that the mask allows, else bits of text and markup.
void answer(ScriptedRow& row) {
  static constexpr std::string_view said =
      "Hm. <tool_call>{\"name\":\"look\",\"arguments\":{\"q\":\"x\"}}</tool_call> END é🚀";
  std::uint64_t random = row.job.prompt.size() * 2654435761u + 1;
  const int most = std::min(40, row.job.max_tokens.value_or(40));
  auto reason = engine::FinishReason::length;
  for (int i = 0; i < most; ++i) {
    std::vector<int> may;
    if (row.job.mask) {
      const auto words = row.job.mask->compute();
      if (!words) throw std::runtime_error(fmt::format("a mask failed: {}", words.error().message));
      for (int id = 0; !words->empty() && id <= ByteTokenizer::end; ++id) {
        if (engine::mask_allows(*words, id)) may.push_back(id);
      }
    }
    random = random * 6364136223846793005u + 1442695040888963407u;
    const int id = may.empty() ? int(static_cast<unsigned char>(said[i % said.size()]))
                               : may[(random >> 33) % may.size()];
    if (id == ByteTokenizer::end) {
      reason = engine::FinishReason::stop;
      break;
    }
    row.say(std::string(1, char(id)));
    if (!row.job.mask) continue;
    if (const auto taken = row.job.mask->accept(id); !taken) {
      throw std::runtime_error(
          fmt::format("a mask refused what it allows: {}", taken.error().message));
    }
    if (row.job.mask->complete()) {
      reason = engine::FinishReason::stop;
      break;
    }
  }
  row.finish(reason);
}

class Fuzzer {
 public:
  Fuzzer() {
    auto listening = server::Server::listen({.port = 0});
    if (!listening) throw std::runtime_error(listening.error().message);
    server_ = std::move(*listening);
    server_->set_model(services::testing::scripted_model([](ScriptedRow& row) -> Result<void> {
      try {
        answer(row);
      } catch (const std::exception& failed) {
        return fail(ErrorCode::internal, failed.what());
      }
      return {};
    }));
  }

  /// Sends every body as it is. @return the first that is refused; empty when none is
  std::string unchanged() {
    for (const auto& target : targets()) {
      auto connection = client();
      connection.send(whole(target.path, target.body.dump()));
      const auto answered = connection.receive();
      if (answered.status != 200) return fmt::format("{}: {}", target.path, answered.body);
    }
    return {};
  }

  /// Sends one changed request. @return what is wrong; empty when nothing is
  std::string round(std::uint64_t seed) {
    Mutator mutator(seed);
    const auto& target = mutator.one_of(targets());
    Json body = mutator.mutated(target.body, mutator.one_of(targets()).body);
    if (body.is_object() && mutator.chance(50)) body["stream"] = mutator.chance(50);
    std::string text = body.dump(-1, ' ', false, Json::error_handler_t::ignore);
    if (mutator.chance(25)) text = mutator.mutated_bytes(std::move(text));
    const bool raw = mutator.chance(15);
    std::string sent =
        mutator.chance(20) ? chunked(mutator, target.path, text) : whole(target.path, text);
    if (raw) sent = mutator.mutated_bytes(std::move(sent));
    const auto began = std::chrono::steady_clock::now();
    std::string wrong;
    try {
      wrong = raw ? raw_exchange(sent) : exchange(sent);
    } catch (const std::exception& failed) {
      wrong = fmt::format("no answer: {}", failed.what());
    }
    if (std::chrono::steady_clock::now() - began > std::chrono::seconds(10)) wrong = "over 10 s";
    if (wrong.empty()) return {};
    return fmt::format("{}\n{}", wrong,
                       Json(sent).dump(-1, ' ', true, Json::error_handler_t::replace));
  }

  /// A word on what was sent; empty when it was not of both kinds.
  std::string tally() const {
    if (answered_ == 0 || refused_ == 0) return {};
    return fmt::format("{} answered, {} refused", answered_, refused_);
  }

  bool alive() { return client().get("/health").status == 200; }

 private:
  TestClient client() { return TestClient(server_->port()); }

  static std::string whole(std::string_view path, std::string_view body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", path,
                       body.size(), body);
  }

  static std::string chunked(Mutator& mutator, std::string_view path, std::string_view body) {
    std::string out = fmt::format(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", path);
    while (!body.empty()) {
      const auto n = std::min(body.size(), 1 + mutator.below(400));
      out += fmt::format("{:x}\r\n{}\r\n", n, body.substr(0, n));
      body.remove_prefix(n);
    }
    return out + "0\r\n\r\n";
  }

  std::string check(const Answered& answered) {
    ++(answered.status == 200 ? answered_ : refused_);
    if (answered.status == 200) {
      const bool failed = answered.says("data: {\"error\":") || answered.says("event: error");
      return failed ? fmt::format("a stream failed: {}", answered.body) : "";
    }
    if (answered.status < 400 || answered.status > 499) {
      return fmt::format("status {}: {}", answered.status, answered.body);
    }
    const auto body = parse_json(answered.body);
    if (!body || !body->is_object() || !body->contains("error")) return "no error in JSON";
    const Json& error = (*body)["error"];
    const Json message = error.is_object() ? error.value("message", Json()) : error;
    return message.is_string() && !message.get_ref<const std::string&>().empty() ? ""
                                                                                 : "no message";
  }

  std::string exchange(const std::string& sent) {
    auto connection = client();
    connection.send(sent);
    return check(connection.receive());
  }

  /// What is no longer a request may be answered by closing; any answer must be a right one.
  std::string raw_exchange(const std::string& sent) {
    auto connection = client();
    connection.send(sent);
    connection.end_sending();
    std::string head;
    try {
      head = connection.receive_head();
    } catch (const boost::system::system_error& closed) {
      return closed.code() == boost::asio::error::eof ||
                     closed.code() == boost::asio::error::connection_reset
                 ? ""
                 : closed.what();
    }
    const auto status = head.starts_with("HTTP/1.") ? std::atoi(head.c_str() + 9) : 0;
    const bool right = (status >= 400 && status < 500) || (status >= 100 && status < 300);
    return right ? "" : fmt::format("answered {}", head);
  }

  std::unique_ptr<server::Server> server_;
  std::uint64_t answered_ = 0, refused_ = 0;
};

int run_for(double seconds, std::uint64_t seed) {
  log::configure("error", log::Format::text);
  Fuzzer fuzzer;
  if (const auto refused = fuzzer.unchanged(); !refused.empty()) {
    fmt::print(stderr, "refused unchanged: {}\n", refused);
    return EXIT_FAILURE;
  }
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t rounds = 0;
  for (; std::chrono::steady_clock::now() - start < std::chrono::duration<double>(seconds);
       ++rounds) {
    auto wrong = fuzzer.round(seed + rounds);
    if (wrong.empty() && rounds % 100 == 0 && !fuzzer.alive()) wrong = "the server is gone";
    if (wrong.empty()) continue;
    fmt::print(stderr, "seed {}: {}\n", seed + rounds, wrong);
    return EXIT_FAILURE;
  }
  fmt::print("{} requests ({}), no finding\n", rounds, fuzzer.tally());
  return fuzzer.tally().empty() ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace
}  // namespace hearth::fuzz

int main(int argc, char** argv) {
  const char* environment = std::getenv("HEARTH_FUZZ_SECONDS");
  const double seconds = std::atof(argc > 1 ? argv[1] : environment ? environment : "5");
  const auto seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  return hearth::fuzz::run_for(seconds, seed);
}
