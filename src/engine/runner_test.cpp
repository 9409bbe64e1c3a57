#include "engine/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/fragile_model.h"
#include "engine/tiny_model.h"
#include "models/load.h"

namespace hearth::engine {
namespace {

using tensor::Array;

constexpr TokenId unknown = TinyModel::vocab_size;  // evaluating it throws

class RunnerTest : public testing::Test {
 protected:
  struct Line {
    std::vector<TokenId> tokens;
    tensor::SequenceCache cache;
  };

  explicit RunnerTest(tensor::Execution execution = tensor::Execution::kernels)
      : loaded_(*models::load(files_.folder(), execution)), fragile_(*loaded_.model),
        kernels_(execution == tensor::Execution::kernels) {}

  Line line(std::vector<TokenId> tokens) {
    return {std::move(tokens), tensor::make_sequence_cache(fragile_.caches(), kernels_)};
  }

  /// Runs the tokens [from, to) of each line and wants the logits of the last.
  std::vector<RowLogits> run(std::vector<Line>& lines, int from, int to) {
    std::vector<RowWork> work;
    for (auto& line : lines) {
      work.push_back({&line.cache, std::span(line.tokens).subspan(from, to - from), 1});
    }
    return Runner(fragile_, kernels_).run(work);
  }

  static std::vector<float> numbers(const Array& logits) {
    return {logits.data<float>(), logits.data<float>() + logits.size()};
  }

  TinyModel files_;
  models::Loaded loaded_;
  Fragile fragile_;
  const bool kernels_;
};

struct PlainRunnerTest : RunnerTest {
  PlainRunnerTest() : RunnerTest(tensor::Execution::plain) {}
};

TEST_F(RunnerTest, AFatalRowFailsAlone) {
  for (const TokenId fatal : {no_memory, unknown}) {
    SCOPED_TRACE(fatal);
    std::vector<Line> lines, untouched;
    for (auto* to : {&lines, &untouched}) {
      to->push_back(line({1, 2, 3, 4, 5, 6}));
      to->push_back(line({9, 8, 9, 8, 9, 8}));
    }
    lines.insert(lines.begin() + 1, line({1, 1, 1, fatal, 1, 1}));
    for (const auto& row : run(lines, 0, 3)) ASSERT_TRUE(row);
    const auto broken = run(lines, 3, 4);
    EXPECT_TRUE(broken[0]);
    ASSERT_FALSE(broken[1]);
    EXPECT_FALSE(broken[1].error().empty());
    EXPECT_TRUE(broken[2]);
    lines.erase(lines.begin() + 1);
    const auto after = run(lines, 4, 6);
    run(untouched, 0, 3);
    run(untouched, 3, 4);
    const auto wanted = run(untouched, 4, 6);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(lines[i].cache[0]->offset(), 6);
      EXPECT_EQ(numbers(after[i]->front()), numbers(wanted[i]->front())) << "row " << i;
    }
  }
}

TEST_F(PlainRunnerTest, AFatalRowFailsAlone) {
  std::vector<Line> lines;
  lines.push_back(line({1, 2, 3}));
  lines.push_back(line({1, no_memory, 3}));
  lines.push_back(line({4, 5, 6}));
  const auto rows = run(lines, 0, 3);
  EXPECT_TRUE(rows[0]);
  ASSERT_FALSE(rows[1]);
  EXPECT_THAT(rows[1].error(), testing::HasSubstr("bad_alloc"));
  EXPECT_TRUE(rows[2]);
}

}  // namespace
}  // namespace hearth::engine
