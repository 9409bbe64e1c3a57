#include <gtest/gtest.h>

#include "tensor/kernels/testing.h"

namespace hearth::kernels {
namespace {

using namespace testing;  // NOLINT: the helpers of this file's tests

constexpr int tokens = 9, each = 3, inputs = 64, outputs = 40, experts = 5;

struct ExpertTest : KernelTest {
  PackedExperts packed;
  Array chosen = Array(0);

  void SetUp() override {
    KernelTest::SetUp();
    for (int e = 0; e < experts; ++e) {
      packed.push_back(PackedLinear::dense(normal({outputs, inputs}, 100 + e)));
    }
    std::vector<int> ids;
    for (int i = 0; i < tokens * each; ++i) ids.push_back(i * 7 % experts);
    chosen = Array(ids.data(), {tokens, each}, mx::int32);
  }

  /// Each choice by itself.
  Array one_by_one(const Array& x) const {
    std::vector<Array> rows;
    for (int i = 0; i < tokens * each; ++i) {
      const int token = i / each, which = x.shape(1) == 1 ? 0 : i % each;
      const Array row =
          mx::reshape(mx::slice(x, {token, which, 0}, {token + 1, which + 1, inputs}), {1, inputs});
      rows.push_back(linear(mx::contiguous(row), packed[i * 7 % experts]));
    }
    return mx::reshape(mx::concatenate(rows, 0), {tokens, each, outputs});
  }
};

TEST_F(ExpertTest, EveryChoiceIsWhatItsExpertGivesAlone) {
  for (const int width : {1, each}) {
    const Array x = normal({tokens, width, inputs}, 1);
    expect_same_bits(expert_linear(x, chosen, packed), one_by_one(x));
  }
}

TEST_F(ExpertTest, ShapesThatDoNotFitAreRefused) {
  EXPECT_THROW(expert_linear(normal({tokens, 2, inputs}, 1), chosen, packed),
               std::invalid_argument);
  EXPECT_THROW(expert_linear(normal({tokens, 1, inputs + 1}, 1), chosen, packed),
               std::invalid_argument);
  EXPECT_THROW(expert_linear(normal({tokens, 1, inputs}, 1), chosen, {}), std::invalid_argument);
}

}  // namespace
}  // namespace hearth::kernels
