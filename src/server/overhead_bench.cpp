// What HTTP costs: one answer's tokens a second in this process against the same answer streamed
// over a loopback socket by the same engine, taking turns. Both the client's and the server's work
// count. On a busy machine look at the processor time, which waiting does not blur.
//
// usage: overhead_bench MODEL [tokens] [rounds]; prints one line of JSON, medians all
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/bench.h"
#include "server/server.h"
#include "server/test_client.h"
#include "services/chat/generation.h"

namespace {

using namespace hearth;
using bench::cpu_seconds;
using bench::median;
using Clock = std::chrono::steady_clock;

const std::string prompt = "The history of the river begins in the mountains, where";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds from the first token's text to the end; -1 when the answer ended early.
double in_process(const std::shared_ptr<services::LoadedModel>& model, int tokens) {
  services::Request request;
  request.input = prompt;
  request.sampling.temperature = 0;
  request.sampling.max_tokens = tokens;
  auto generation = services::Generation::start(model, request);
  if (!generation) return -1;
  std::optional<Clock::time_point> first;
  int made = 0;
  while (!(*generation)->finished()) {
    for (const auto& event : (*generation)->next()) {
      if (!first) first = Clock::now();
      if (const auto* end = std::get_if<services::Finished>(&event)) {
        made = end->usage.completion_tokens;
      }
    }
  }
  return made == tokens ? seconds_since(*first) : -1;
}

double over_http(int port, int tokens) {
  server::testing::TestClient client(port);
  const Json body{{"prompt", prompt},
                  {"temperature", 0},
                  {"max_tokens", tokens},
                  {"stream", true},
                  {"stream_options", {{"include_usage", true}}}};
  client.request("POST", "/v1/completions", body.dump());
  client.receive_head();
  std::optional<Clock::time_point> first;
  std::string answer;
  for (std::string chunk = client.receive_chunk(); !chunk.empty(); chunk = client.receive_chunk()) {
    if (!first) first = Clock::now();
    answer += chunk;
  }
  const bool whole = answer.find(fmt::format("\"completion_tokens\":{}", tokens)) != answer.npos;
  return first && whole ? seconds_since(*first) : -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: overhead_bench MODEL [tokens] [rounds]\n", stderr);
    return 2;
  }
  const int tokens = argc > 2 ? std::atoi(argv[2]) : 256;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 7;
  auto model = services::load_model(argv[1], {});
  server::ServerOptions options;
  options.port = 0;
  auto server = server::Server::listen(std::move(options));
  if (!model || !server) {
    std::fprintf(stderr, "%s\n", (model ? server.error() : model.error()).message.c_str());
    return 1;
  }
  (*server)->set_model(*model);
  std::vector<double> inside, outside, ratios, cpu_ratios;
  for (int i = -1; i < rounds; ++i) {  // the first round warms up
    const double cpu_0 = cpu_seconds();
    const double a = in_process(*model, tokens);
    const double cpu_1 = cpu_seconds();
    const double b = over_http((*server)->port(), tokens);
    const double cpu_2 = cpu_seconds();
    if (a < 0 || b < 0) {
      std::fputs("an answer ended early: choose fewer tokens\n", stderr);
      return 1;
    }
    if (i < 0) continue;
    inside.push_back(a);
    outside.push_back(b);
    ratios.push_back(b / a);
    cpu_ratios.push_back((cpu_2 - cpu_1) / (cpu_1 - cpu_0));
  }
  const auto rate = [&](double seconds) { return (tokens - 1) / seconds; };
  std::puts(
      fmt::format("{{\"tokens\":{},\"rounds\":{},\"in_process_tps\":{:.1f},\"http_tps\":{:.1f},"
                  "\"overhead_percent\":{:.2f},\"cpu_overhead_percent\":{:.2f}}}",
                  tokens, rounds, rate(median(inside)), rate(median(outside)),
                  100 * (median(ratios) - 1), 100 * (median(cpu_ratios) - 1))
          .c_str());
  return 0;
}
