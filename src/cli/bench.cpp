// bench: prefill and decode speed of a model, in process, through the same engine as everything.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>

#include "base/file.h"
#include "cli/engine_options.h"
#include "cli/interrupts.h"
#include "cli/model_argument.h"
#include "cli/size.h"
#include "cli/step.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace hearth::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Run {
  double ttft_ms = 0;      // from submit to the first token
  double prefill_tps = 0;  // prompt tokens a second, from admission to the first token
  double decode_tps = 0;   // tokens after the first, a second
  std::vector<text::TokenId> ids;
};

struct Spread {
  double median = 0, least = 0, most = 0;
};

Spread spread(const std::vector<Run>& runs, double Run::*field) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(run.*field);
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return {n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2, values.front(),
          values.back()};
}

Json as_json(const Spread& s) { return {{"median", s.median}, {"min", s.least}, {"max", s.most}}; }

/// Most memory that this process ever held, in bytes. Linux lets a program inherit the maximum of
/// the one that started it in ru_maxrss, hence /proc there.
std::uint64_t peak_resident() {
#ifdef __APPLE__
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss);
#else
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
#endif
}

/// The same ids on every machine: a 64-bit Mersenne Twister and a plain remainder.
std::vector<text::TokenId> random_prompt(int tokens, int vocabulary) {
  std::mt19937_64 random(20250101);
  std::vector<text::TokenId> ids(static_cast<std::size_t>(tokens));
  for (auto& id : ids) {
    id = static_cast<text::TokenId>(random() % static_cast<std::uint64_t>(vocabulary));
  }
  return ids;
}

Result<Run> run_once(engine::Engine& engine, const std::vector<text::TokenId>& prompt, int tokens,
                     Interrupts& interrupts) {
  engine::GenerateRequest request;
  request.prompt = prompt;
  request.sampling.temperature = 0;
  request.max_tokens = tokens;
  const auto start = Clock::now();
  auto submitted = engine.submit(std::move(request));
  if (!submitted) return fail(submitted.error());
  const auto stream = std::move(*submitted);
  interrupts.on_signal([stream] { stream->cancel(); });
  Run run;
  for (;;) {
    auto item = stream->pop();
    if (const auto* token = std::get_if<engine::Sampled>(&item)) {
      if (run.ids.empty()) {
        run.ttft_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      }
      run.ids.push_back(token->id);
      continue;
    }
    const auto& finish = std::get<engine::Finish>(item);
    if (finish.error) return fail(*finish.error);
    if (finish.reason == engine::FinishReason::cancelled) {
      return fail(ErrorCode::cancelled, "interrupted");
    }
    const auto& usage = finish.usage;
    const double decoded = usage.completion_tokens - 1;
    if (usage.prefill_seconds > 0) run.prefill_tps = usage.prompt_tokens / usage.prefill_seconds;
    if (usage.decode_seconds > 0) run.decode_tps = decoded / usage.decode_seconds;
    return run;
  }
}

class Bench : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("query", "the model", &model_.positional);
    table.section("What to measure");
    model_.declare(table);
    table.add(
        whole("--tokens", "N", &tokens_, 2, 1 << 20, "tokens to generate").with_default("256"));
    table.add(whole("--prompt-tokens", "N", &prompt_tokens_, 1, 1 << 24, "tokens of the prompt")
                  .with_default("512"));
    table.add(whole("--runs", "N", &runs_, 1, 1000, "measured runs; the median counts")
                  .with_default("3"));
    table.add(flag("--json", &json_, "one JSON document")).in_config = false;
    engine_.declare(table);
  }

  Result<int> run(Context& context) override {
    Interrupts interrupts;
    const auto choice = choose_model(model_, context);
    if (!choice) return fail(choice.error());
    const Steps steps = context.quiet ? Steps::hidden : Steps::at_terminal_only;
    Step loading(context.terminal, fmt::format("Loading {}", choice->name), steps);
    auto engine = engine::Engine::load(choice->path, engine_.options());
    if (!engine) return fail(engine.error());
    loading.done("");
    Step step(context.terminal, fmt::format("Measuring {}", choice->name), steps);
    const auto runs = measure(**engine, interrupts);
    if (!runs && interrupts.last() != 0) return 128 + interrupts.last();
    if (!runs) return fail(runs.error());
    step.done("");
    const Json result = summary(choice->name, **engine, *runs);
    context.terminal.out(json_ ? result.dump(2) + "\n" : as_text(result));
    return exit_ok;
  }

 private:
  /// A warm-up, then the runs. Every one of them must give the same ids: a fast wrong answer is
  /// worth no number.
  Result<std::vector<Run>> measure(engine::Engine& engine, Interrupts& interrupts) const {
    const auto prompt = random_prompt(prompt_tokens_, engine.info().vocab_size);
    const auto warm = run_once(engine, prompt, tokens_, interrupts);
    if (!warm) return fail(warm.error());
    if (static_cast<int>(warm->ids.size()) != tokens_) {
      return fail(ErrorCode::internal,
                  fmt::format("the model ended after {} of {} tokens", warm->ids.size(), tokens_));
    }
    std::vector<Run> runs;
    while (static_cast<int>(runs.size()) < runs_) {
      auto run = run_once(engine, prompt, tokens_, interrupts);
      if (!run) return fail(run.error());
      if (run->ids != warm->ids) {
        const auto at = std::ranges::mismatch(run->ids, warm->ids).in1 - run->ids.begin();
        return fail(ErrorCode::internal,
                    fmt::format("two greedy runs differ from token {} on; no speed is told", at));
      }
      runs.push_back(std::move(*run));
    }
    return runs;
  }

  Json summary(const std::string& name, const engine::Engine& engine,
               const std::vector<Run>& runs) const {
    const auto backend = engine::backend();
    return {{"model", name},
            {"quantization", engine.info().quantization},
            {"tier", engine_.l1 ? "l1" : "fast"},
            {"device", backend.device},
            {"prompt_tokens", prompt_tokens_},
            {"tokens", tokens_},
            {"runs", runs_},
            {"prefill_tps", as_json(spread(runs, &Run::prefill_tps))},
            {"decode_tps", as_json(spread(runs, &Run::decode_tps))},
            {"ttft_ms", as_json(spread(runs, &Run::ttft_ms))},
            {"peak_memory_bytes", peak_resident()},
            {"allocator_peak_bytes", engine::memory().peak},
            {"load_seconds", engine.info().load_seconds}};
  }

  static std::string as_text(const Json& r) {
    std::vector<std::vector<std::string>> rows{{"", "MEDIAN", "LEAST", "MOST"}};
    const auto row = [&](const char* title, const char* key) {
      const auto cell = [&](const char* part) {
        return fmt::format("{:.1f}", r[key][part].get<double>());
      };
      rows.push_back({title, cell("median"), cell("min"), cell("max")});
    };
    row("prefill, tokens/s", "prefill_tps");
    row("decode, tokens/s", "decode_tps");
    row("first token, ms", "ttft_ms");
    return fmt::format(
        "{}  ({}, tier {}, {})\n{} prompt tokens, {} tokens, {} runs; loaded in {:.2f} s\n\n{}\n"
        "peak memory {}, of it MLX's allocator {}\n",
        r["model"].get<std::string>(), r["quantization"].get<std::string>(),
        r["tier"].get<std::string>(), r["device"].get<std::string>(), r["prompt_tokens"].get<int>(),
        r["tokens"].get<int>(), r["runs"].get<int>(), r["load_seconds"].get<double>(),
        layout_table(rows, {false, true, true, true}),
        human_size(r["peak_memory_bytes"].get<std::uint64_t>()),
        human_size(r["allocator_peak_bytes"].get<std::uint64_t>()));
  }

  ModelArgument model_;
  EngineFlags engine_;
  int tokens_ = 256, prompt_tokens_ = 512, runs_ = 3;
  bool json_ = false;
};

}  // namespace

Verb bench_verb() {
  return {.name = "bench",
          .aliases = {"benchmark"},
          .summary = "Measure a model's speed in this process",
          .usage = "[query] [flags]",
          .notes =
              "Greedy, on a prompt of random tokens that is the same everywhere. All runs must "
              "give the same tokens, or no number is told.",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Bench>(); }};
}

}  // namespace hearth::cli
