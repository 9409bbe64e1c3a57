// Random mixes of rows that join, leave, are cancelled and take from the prompt cache, in memory or
// files: each must get, token for token and log-probability for log-probability, what it gets
// alone. HEARTH_SCHEDULES says how many mixes of each kind of model and tier;
// HEARTH_SCHEDULES_MODEL names a folder to take instead of tiny ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <utility>

#include "engine/prompt_cache/testing.h"
#include "engine/schedule_parts.h"
#include "engine/tiny_model.h"

namespace hearth::engine {
namespace {

/// What the mixes came to.
struct Tally {
  int rows = 0, wrong = 0, cancelled = 0;
  std::uint64_t hits = 0, hit_tokens = 0, evicted = 0, restores = 0;

  void add(const RunningRow& row) {
    ++rows;
    wrong += !row.right();
    cancelled += !row.whole();
  }
  void add(const EngineStats& stats) {
    hits += stats.prompt_cache.hits;
    hit_tokens += stats.prompt_cache.hit_tokens;
    evicted += stats.prompt_cache.evicted;
    restores += stats.ssd_cache.restores;
  }
};

/// One engine, and a mix that runs on it.
class Mix {
 public:
  Mix(Engine& engine, Random& random) : engine_(engine), random_(random) {}

  void join(const MixPart& part) {
    rows_.push_back(
        {.part = &part, .stream = *engine_.submit(part.make(engine_.info().vocab_size))});
  }
  void read_some() {
    for (int reads = below(random_, 8); reads > 0; --reads) any().read_one();
  }
  void leave() { any().leave(); }

  /// Work that must have the engine to itself.
  void run_alone() {
    lone_.push_back(engine_.run_alone([this](const models::Model&) -> Result<void> {
      if (engine_.stats().active_rows == 1) return {};
      return fail(ErrorCode::internal, "rows run beside it");
    }));
  }

  void finish() {
    for (auto& row : rows_) row.read_all();
    for (auto& lone : std::exchange(lone_, {})) {
      const auto outcome = lone.get();
      EXPECT_TRUE(outcome) << outcome.error().message;
    }
  }

  /// A row that got all of its answer and may take its prompt from the cache; null: none did.
  const MixPart* repeatable() const {
    for (const auto& row : rows_) {
      const auto& request = row.part->request;
      if (row.whole() && !request.score_prompt && request.prompt.size() > 65) return row.part;
    }
    return nullptr;
  }

  const std::vector<RunningRow>& rows() const { return rows_; }
  bool empty() const { return rows_.empty(); }

 private:
  RunningRow& any() { return rows_[std::size_t(below(random_, int(rows_.size())))]; }

  Engine& engine_;
  Random& random_;
  std::vector<RunningRow> rows_;
  std::vector<std::future<Result<void>>> lone_;
};

class Mixes {
 public:
  Mixes(std::filesystem::path folder, Tier tier)
      : folder_(std::move(folder)), tier_(tier), alone_(load({.max_rows = 1})),
        parts_(random_parts(24, alone_->info().vocab_size)), known_(parts_.size()) {
    const auto& info = alone_->info();
    row_bytes_ = 4 * (info.kv_token_size * std::size_t(longest_part) + info.kv_window_size);
  }

  /// @return rows that differ
  int run(unsigned seed) {
    Random random(seed);
    const int before = tally_.wrong;
    const auto options = random_options(random, seed);
    const auto engine = load(options);
    Mix mix(*engine, random);
    const int few = 4 + below(random, 20);  // parts that the mix is of
    for (int joins = 2 + below(random, 11); joins > 0;) {
      const int what = below(random, 20);
      if (mix.empty() || what < 11) {
        mix.join(part(below(random, few)));
        --joins;
      } else if (what < 17) {
        mix.read_some();
      } else if (what < 19) {
        mix.leave();
      } else {
        mix.run_alone();
      }
    }
    mix.finish();
    if (options.prompt_cache.max_bytes == plenty()) expect_hit(mix);
    for (const auto& row : mix.rows()) tally_.add(row);
    tally_.add(engine->stats());
    return tally_.wrong - before;
  }

  const Tally& tally() const { return tally_; }

 private:
  /// A mix in three has no prompt cache; one has a small one with files, which outlive its engine.
  EngineOptions random_options(Random& random, unsigned seed) const {
    EngineOptions options{.max_rows = 1 + below(random, 8), .step_tokens = 8 + below(random, 90)};
    if (below(random, 3) == 0) options.kv_budget = row_bytes_ * std::size_t(1 + below(random, 3));
    if (seed % 3 == 0) options.prompt_cache.max_bytes = plenty();
    if (seed % 3 == 1) {
      options.prompt_cache.max_bytes = row_bytes_ / std::size_t(2 + below(random, 6));
      options.prompt_cache.disk = files_.path;
    }
    return options;
  }
  std::size_t plenty() const { return 64 * row_bytes_; }

  void expect_hit(Mix& mix) {
    const MixPart* again = mix.repeatable();
    if (!again) return;
    mix.join(*again);
    mix.finish();
    EXPECT_GT(mix.rows().back().finish->usage.cached_tokens, 0);
  }

  /// A part whose answer alone is known.
  const MixPart& part(int i) {
    auto& part = parts_[std::size_t(i)];
    if (known_[std::size_t(i)]) return part;
    if (part.follows >= 0) {
      const auto& before = this->part(part.follows);
      auto prompt = before.request.prompt;
      for (const auto& token : before.alone) prompt.push_back(token.id);
      part.request.prompt.insert(part.request.prompt.begin(), prompt.begin(), prompt.end());
    }
    RunningRow row{.part = &part, .stream = *alone_->submit(part.make(alone_->info().vocab_size))};
    row.read_all();
    part.alone = std::move(row.given);
    part.scored_alone = std::move(row.scored);
    known_[std::size_t(i)] = true;
    return part;
  }

  std::unique_ptr<Engine> load(EngineOptions options) const {
    options.tier = tier_;
    options.device = "cpu";
    options.prefill_chunk = 64;  // at tier l1 numbers depend on it
    return std::move(Engine::load(folder_, options).value());
  }

  const std::filesystem::path folder_;
  const Tier tier_;
  const TestFolder files_;
  const std::unique_ptr<Engine> alone_;
  std::vector<MixPart> parts_;
  std::vector<bool> known_;
  std::size_t row_bytes_ = 0;  // no less than a part comes to
  Tally tally_;
};

class SchedulesTest : public ::testing::TestWithParam<std::tuple<Tier, TinyModelOptions>> {};

TEST_P(SchedulesTest, ARowGetsInAnyMixWhatItGetsAlone) {
  auto [tier, model] = GetParam();
  model.context_length = longest_part;
  const char* wanted = std::getenv("HEARTH_SCHEDULES");
  const int mixes = wanted ? std::atoi(wanted) : tier == Tier::fast ? 4 : 2;
  const TinyModel tiny(model);
  const char* other = std::getenv("HEARTH_SCHEDULES_MODEL");
  Mixes all(other ? std::filesystem::path(other) : tiny.folder(), tier);
  for (int i = 0; i < mixes; ++i) EXPECT_EQ(all.run(unsigned(i)), 0) << "mix " << i;
  if (!wanted) return;
  const auto& tally = all.tally();
  fmt::print(
      "{} mixes, {} rows, {} cancelled, {} took {} tokens from the cache, {} blocks evicted, "
      "{} restored from files, {} differ\n",
      mixes, tally.rows, tally.cancelled, tally.hits, tally.hit_tokens, tally.evicted,
      tally.restores, tally.wrong);
}

std::string name_of(const ::testing::TestParamInfo<SchedulesTest::ParamType>& info) {
  constexpr const char* kinds[] = {"Plain", "Sliding", "Quantized"};
  return std::string(std::get<0>(info.param) == Tier::l1 ? "L1" : "Fast") +
         kinds[info.index % std::size(kinds)];
}

INSTANTIATE_TEST_SUITE_P(Tiers, SchedulesTest,
                         ::testing::Combine(::testing::Values(Tier::fast, Tier::l1),
                                            ::testing::Values(TinyModelOptions{},
                                                              TinyModelOptions{.window = 24},
                                                              TinyModelOptions{.quantized = true})),
                         name_of);

}  // namespace
}  // namespace hearth::engine
