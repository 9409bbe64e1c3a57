// What the most tokens of a step cost and gain: long prompts beside running streams, and alone. The
// sizes take turns, so that a busy machine is busy for all of them.
//
// usage: pace_bench MODEL [prompt tokens] [rounds] [step tokens ...]; prints a line of JSON a size
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "base/bench.h"
#include "engine/engine.h"

namespace {

using namespace hearth;
using namespace hearth::engine;
using bench::median;
using Clock = std::chrono::steady_clock;

constexpr int streams = 4;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

GenerateRequest request_of(int prompt_tokens, int max_tokens, unsigned seed, int vocabulary) {
  std::mt19937 random(seed);
  GenerateRequest request{.sampling = {.temperature = 0}, .max_tokens = max_tokens};
  for (int i = 0; i < prompt_tokens; ++i) {
    request.prompt.push_back(TokenId(random() % unsigned(vocabulary)));
  }
  return request;
}

/// A size of steps and what was measured with it.
struct Setting {
  int step_tokens;
  std::unique_ptr<Engine> engine;
  std::vector<double> alone, beside;  // seconds to the long prompt's first token
  std::vector<double> gaps;           // the longest between two tokens of a stream, in each round
  std::vector<double> rates;          // tokens a second of all streams while the prompt is read
};

/// Seconds until the prompt's first token.
double first_token(Engine& engine, int prompt_tokens, unsigned seed) {
  const auto start = Clock::now();
  auto stream = *engine.submit(request_of(prompt_tokens, 1, seed, engine.info().vocab_size));
  stream->pop();
  const double took = seconds_since(start);
  while (!std::holds_alternative<Finish>(stream->pop())) {
  }
  return took;
}

/// Reads a stream until it is cancelled: when its tokens came.
std::vector<Clock::time_point> read(TokenStream& stream) {
  std::vector<Clock::time_point> times;
  while (!std::holds_alternative<Finish>(stream.pop())) times.push_back(Clock::now());
  return times;
}

void round(Setting& setting, int prompt_tokens, unsigned seed) {
  Engine& engine = *setting.engine;
  setting.alone.push_back(first_token(engine, prompt_tokens, seed));
  std::vector<std::shared_ptr<TokenStream>> running;
  std::vector<std::vector<Clock::time_point>> times(streams);
  std::vector<std::jthread> readers;
  for (int i = 0; i < streams; ++i) {
    running.push_back(
        *engine.submit(request_of(8, 4000, seed + unsigned(i), engine.info().vocab_size)));
    running.back()->pop();
  }
  for (int i = 0; i < streams; ++i) readers.emplace_back([&, i] { times[i] = read(*running[i]); });
  std::this_thread::sleep_for(std::chrono::seconds(1));  // the pace is measured
  const auto start = Clock::now();
  const double took = first_token(engine, prompt_tokens, seed + 100);
  for (auto& stream : running) stream->cancel();
  readers.clear();
  double longest = 0;
  int tokens = 0;
  for (const auto& all : times) {
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i] < start) continue;
      ++tokens;
      longest = std::max(longest, std::chrono::duration<double>(all[i] - all[i - 1]).count());
    }
  }
  setting.beside.push_back(took);
  setting.gaps.push_back(longest);
  setting.rates.push_back(tokens / took);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: pace_bench MODEL [prompt tokens] [rounds] [step tokens ...]\n", stderr);
    return 2;
  }
  const int prompt_tokens = argc > 2 ? std::atoi(argv[2]) : 2000;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 3;
  std::vector<Setting> settings;
  std::vector<int> sizes;
  for (int i = 4; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty()) sizes = {128, 512};
  for (const int size : sizes) {
    auto engine = Engine::load(argv[1], {.step_tokens = size});
    if (!engine) {
      std::fprintf(stderr, "%s\n", engine.error().message.c_str());
      return 1;
    }
    settings.push_back({.step_tokens = size, .engine = std::move(*engine)});
  }
  for (int i = 0; i < rounds; ++i) {
    for (auto& setting : settings) round(setting, prompt_tokens, unsigned(i));
  }
  for (const auto& s : settings) {
    std::puts(fmt::format("{{\"step_tokens\":{},\"prompt_tokens\":{},\"streams\":{},\"rounds\":{},"
                          "\"alone_s\":{:.2f},\"beside_s\":{:.2f},\"longest_gap_s\":{:.3f},"
                          "\"streams_tps\":{:.1f}}}",
                          s.step_tokens, prompt_tokens, streams, rounds, median(s.alone),
                          median(s.beside), median(s.gaps), median(s.rates))
                  .c_str());
  }
  return 0;
}
