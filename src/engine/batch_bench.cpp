// What batching gains: tokens a second of some streams together against one stream alone, the same
// lengths, taking turns. On a busy machine look at the processor time of a token, which waiting
// does not blur; with all cores at work the two ratios are the same.
//
// usage: batch_bench MODEL [streams] [tokens] [prompt tokens] [rounds] [temperature]; prints one
// line of JSON
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>

#include "base/bench.h"
#include "engine/engine.h"

namespace {

using namespace hearth;
using namespace hearth::engine;
using bench::cpu_seconds;
using bench::median;

struct Load {
  int streams, tokens, prompt_tokens;
  float temperature;
};

struct Speed {
  double per_second = 0;  // tokens of all streams, from their first tokens on
  double cpu_ms = 0;      // of one token, prompts included
};

GenerateRequest request_of(const Load& load, int vocabulary, unsigned stream) {
  std::mt19937 random(stream);
  GenerateRequest request;
  for (int i = 0; i < load.prompt_tokens; ++i) {
    request.prompt.push_back(TokenId(random() % unsigned(vocabulary)));
  }
  request.sampling = {.temperature = load.temperature, .seed = stream};
  request.max_tokens = load.tokens;
  return request;
}

/// None when a row failed.
std::optional<Speed> run(Engine& engine, const Load& load) {
  const double began = cpu_seconds();
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (int i = 0; i < load.streams; ++i) {
    auto stream = engine.submit(request_of(load, engine.info().vocab_size, unsigned(i)));
    if (!stream) return std::nullopt;
    streams.push_back(std::move(*stream));
  }
  double seconds = 0;
  for (const auto& stream : streams) {
    auto item = stream->pop();
    while (std::holds_alternative<Sampled>(item)) item = stream->pop();
    const auto& end = std::get<Finish>(item);
    if (end.error || end.usage.completion_tokens != load.tokens) return std::nullopt;
    seconds += end.usage.decode_seconds / load.streams;
  }
  const double tokens = double(load.streams) * load.tokens;
  return Speed{.per_second = (tokens - load.streams) / seconds,
               .cpu_ms = 1e3 * (cpu_seconds() - began) / tokens};
}

double least(const std::vector<double>& x) { return std::ranges::min(x); }
double most(const std::vector<double>& x) { return std::ranges::max(x); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs(
        "usage: batch_bench MODEL [streams] [tokens] [prompt tokens] [rounds] [temperature]\n",
        stderr);
    return 2;
  }
  const auto whole = [&](int at, int other) { return argc > at ? std::atoi(argv[at]) : other; };
  const Load many{.streams = whole(2, 8),
                  .tokens = whole(3, 64),
                  .prompt_tokens = whole(4, 16),
                  .temperature = argc > 6 ? float(std::atof(argv[6])) : 0.0f};
  Load one = many;
  one.streams = 1;
  const int rounds = whole(5, 7);
  auto engine = Engine::load(argv[1], {.max_rows = many.streams});
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    return 1;
  }
  std::vector<double> alone, together, ratios, cpu_ratios;
  for (int i = -1; i < rounds; ++i) {  // the first round warms up
    const auto a = run(**engine, one);
    const auto b = run(**engine, many);
    if (!a || !b) {
      std::fputs("a row failed or was refused\n", stderr);
      return 1;
    }
    if (i < 0) continue;
    alone.push_back(a->per_second);
    together.push_back(b->per_second);
    ratios.push_back(b->per_second / a->per_second);
    cpu_ratios.push_back(a->cpu_ms / b->cpu_ms);
  }
  std::puts(fmt::format("{{\"streams\":{},\"tokens\":{},\"prompt_tokens\":{},\"rounds\":{},"
                        "\"temperature\":{},\"one_tps\":{:.1f},\"all_tps\":{:.1f},"
                        "\"ratio\":{:.2f},\"least_ratio\":{:.2f},\"most_ratio\":{:.2f},"
                        "\"cpu_ratio\":{:.2f},\"least_cpu_ratio\":{:.2f},"
                        "\"most_cpu_ratio\":{:.2f}}}",
                        many.streams, many.tokens, many.prompt_tokens, rounds, many.temperature,
                        median(alone), median(together), median(ratios), least(ratios),
                        most(ratios), median(cpu_ratios), least(cpu_ratios), most(cpu_ratios))
                .c_str());
  return 0;
}
