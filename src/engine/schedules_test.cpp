// Random mixes of rows that join, leave and are cancelled: each must get, token for token and
// log-probability for log-probability, what it gets alone. HEARTH_SCHEDULES says how many mixes of
// each kind of model and tier; HEARTH_SCHEDULES_MODEL names a folder to take instead of tiny ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "engine/engine.h"
#include "engine/tiny_model.h"

namespace hearth::engine {
namespace {

using Random = std::mt19937;

int below(Random& random, int end) { return int(random() % unsigned(end)); }

/// Leaves every third token, another third after each token.
class Thirds final : public TokenMask {
 public:
  explicit Thirds(int vocabulary) : words_(std::size_t(vocabulary + 31) / 32) {}
  Result<MaskWords> compute() override {
    for (std::size_t i = 0; i < words_.size() * 32; ++i) {
      const auto bit = std::uint32_t{1} << (i % 32);
      words_[i / 32] = i % 3 == turn_ ? words_[i / 32] | bit : words_[i / 32] & ~bit;
    }
    return MaskWords(words_);
  }
  Result<void> accept(TokenId id) override {
    turn_ = std::size_t(id + 1) % 3;
    return {};
  }
  bool complete() const override { return false; }

 private:
  std::vector<std::uint32_t> words_;
  std::size_t turn_ = 0;
};

/// A request that can be made as often as needed, and what it gives alone.
struct Part {
  GenerateRequest request;
  bool masked = false;
  std::vector<Sampled> alone;

  GenerateRequest make(int vocabulary) const {
    auto out = request;
    if (masked) out.mask = std::make_shared<Thirds>(vocabulary);
    return out;
  }
};

Sampling random_sampling(Random& random) {
  Sampling s{.temperature = below(random, 3) == 0 ? 0.0f : 0.5f + 0.1f * float(below(random, 10))};
  s.seed = random();
  if (below(random, 4) == 0) s.top_p = 0.8f;
  if (below(random, 4) == 0) s.top_k = 1 + below(random, 20);
  if (below(random, 4) == 0) s.min_p = 0.05f;
  if (below(random, 4) == 0) s.repetition_penalty = 1.2f;
  if (below(random, 4) == 0) s.frequency_penalty = 0.5f;
  if (below(random, 4) == 0) s.logit_bias = {{3, 2.0f}};
  if (below(random, 3) == 0) s.top_logprobs = below(random, 4);
  return s;
}

/// Some begin alike, as the turns of a conversation do.
std::vector<Part> random_parts(int count, int vocabulary) {
  Random random(20261130);
  std::vector<TokenId> common(160);
  for (auto& id : common) id = below(random, vocabulary);
  std::vector<Part> parts;
  for (int i = 0; i < count; ++i) {
    Part part;
    if (i % 2 == 0)
      part.request.prompt.assign(common.begin(), common.begin() + 32 * below(random, 6));
    for (int more = 1 + below(random, i % 5 == 0 ? 70 : 20); more > 0; --more) {
      part.request.prompt.push_back(below(random, vocabulary));
    }
    part.request.sampling = random_sampling(random);
    part.request.max_tokens = 1 + below(random, 24);
    if (below(random, 4) == 0) part.request.stop_ids = {below(random, vocabulary)};
    part.masked = below(random, 5) == 0;
    parts.push_back(std::move(part));
  }
  return parts;
}

/// A row of a mix.
struct Running {
  const Part* part;
  std::shared_ptr<TokenStream> stream;
  std::vector<Sampled> given;
  int cancel_after = -1;  // tokens; -1: never
  std::optional<Finish> finish;

  void read_one() {
    if (finish) return;
    auto item = stream->pop();
    if (auto* end = std::get_if<Finish>(&item)) {
      finish = std::move(*end);
      return;
    }
    given.push_back(std::move(std::get<Sampled>(item)));
    if (int(given.size()) == cancel_after) stream->cancel();
  }

  /// Whether it got what it gets alone, up to where it was cancelled.
  bool right() const {
    if (finish->reason == FinishReason::error) return false;
    const bool cut = finish->reason == FinishReason::cancelled;
    if (cut && cancel_after < 0) return false;
    const auto& alone = part->alone;
    if (given.size() > alone.size() || (!cut && given.size() != alone.size())) return false;
    return std::equal(given.begin(), given.end(), alone.begin(), [](const auto& a, const auto& b) {
      return a.id == b.id && a.logprob == b.logprob && a.top == b.top;
    });
  }
};

class Mixes {
 public:
  Mixes(std::filesystem::path folder, Tier tier) : folder_(std::move(folder)), tier_(tier) {
    const auto engine = load({.max_rows = 1});
    vocabulary_ = engine->info().vocab_size;
    parts_ = random_parts(24, vocabulary_);
    for (auto& part : parts_) {
      Running row{.part = &part, .stream = *engine->submit(part.make(vocabulary_))};
      while (!row.finish) row.read_one();
      part.alone = std::move(row.given);
    }
  }

  /// @return rows that differ
  int run(unsigned seed) {
    Random random(seed);
    const auto engine =
        load({.max_rows = 1 + below(random, 8), .step_tokens = 8 + below(random, 90)});
    std::vector<Running> rows;
    for (int count = 2 + below(random, 11); count > 0; --count) {
      const auto& part = parts_[std::size_t(below(random, int(parts_.size())))];
      rows.push_back({.part = &part, .stream = *engine->submit(part.make(vocabulary_))});
      if (below(random, 4) == 0) rows.back().cancel_after = 1 + below(random, 6);
      for (int reads = below(random, 8); reads > 0; --reads) {
        rows[std::size_t(below(random, int(rows.size())))].read_one();
      }
    }
    int wrong = 0;
    for (auto& row : rows) {
      while (!row.finish) row.read_one();
      wrong += !row.right();
    }
    rows_ += int(rows.size());
    return wrong;
  }

  int rows() const { return rows_; }

 private:
  std::unique_ptr<Engine> load(EngineOptions options) const {
    options.tier = tier_;
    options.device = "cpu";
    return std::move(Engine::load(folder_, options).value());
  }

  const std::filesystem::path folder_;
  const Tier tier_;
  int vocabulary_ = 0, rows_ = 0;
  std::vector<Part> parts_;
};

class SchedulesTest : public ::testing::TestWithParam<std::tuple<Tier, TinyModelOptions>> {};

TEST_P(SchedulesTest, ARowGetsInAnyMixWhatItGetsAlone) {
  const auto [tier, model] = GetParam();
  const char* wanted = std::getenv("HEARTH_SCHEDULES");
  const int mixes = wanted ? std::atoi(wanted) : 6;
  const TinyModel tiny(model);
  const char* other = std::getenv("HEARTH_SCHEDULES_MODEL");
  Mixes all(other ? std::filesystem::path(other) : tiny.folder(), tier);
  int wrong = 0;
  for (int i = 0; i < mixes; ++i) {
    const int here = all.run(unsigned(i));
    EXPECT_EQ(here, 0) << "mix " << i;
    wrong += here;
  }
  RecordProperty("rows", all.rows());
  if (wanted) fmt::print("{} mixes, {} rows, {} differ\n", mixes, all.rows(), wrong);
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
