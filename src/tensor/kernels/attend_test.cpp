#include <numeric>

#include "tensor/kernels/attend_testing.h"

namespace hearth::kernels {
namespace {

using namespace testing;  // NOLINT: the helpers of this file's tests

// Keys and values are off by 2^-11 of themselves: with normal numbers the scores err by about
// 1e-3 and an output by a few 1e-3 at most.
const float bound = 3e-3f;

struct Case {
  Shape shape;
  int tokens;
};

struct AttendShapes : KernelTest, ::testing::WithParamInterface<Case> {};

TEST_P(AttendShapes, IsWithinTheBoundOfThePlainGraph) {
  const auto& [shape, tokens] = GetParam();
  const auto o = options_of(shape);
  const Array qkv = tokens_of(shape, tokens, 1);
  const Array expected = plain_attention(shape, qkv, o);
  const Array got = attend_row(qkv, pages_for(shape), o);
  expect_within(got, expected, Array(bound));
  EXPECT_LT(root_mean_square(mx::subtract(got, expected)), 4e-4f * root_mean_square(expected));
}

TEST_P(AttendShapes, CapsScoresAndGivesWeightToSinks) {
  const auto& [shape, tokens] = GetParam();
  const Array qkv = tokens_of(shape, tokens, 11);
  auto o = options_of(shape);
  o.softcap = 0.7f;
  expect_within(attend_row(qkv, pages_for(shape), o), plain_attention(shape, qkv, o), Array(bound));
  o.softcap = 0;
  o.sinks = normal({shape.heads}, 12);
  expect_within(attend_row(qkv, pages_for(shape), o), plain_attention(shape, qkv, o), Array(bound));
}

TEST_P(AttendShapes, NormsWhatHasTurned) {
  const auto& [shape, tokens] = GetParam();
  const Array qkv = tokens_of(shape, tokens, 13);
  auto o = options_of(shape);
  o.q_norm = normal({shape.head_dim}, 14);
  o.k_norm = normal({shape.head_dim}, 15);
  o.norm_turned = true;
  const Array got = attend_row(qkv, pages_for(shape), o);
  const Array expected = plain_attention(shape, qkv, o);
  EXPECT_LT(root_mean_square(mx::subtract(got, expected)), 2e-3f * root_mean_square(expected));
}

TEST_P(AttendShapes, ALaterLayerReadsWhatAnEarlierOneWrote) {
  const auto& [shape, tokens] = GetParam();
  const auto o = options_of(shape);
  const Array qkv = tokens_of(shape, tokens, 16);
  const std::shared_ptr<PagedKv> rows[] = {pages_for(shape)};
  const RowSlice slices[] = {{0, tokens}};
  const Array written = attend(qkv, rows, slices, o);
  const Array q = columns(qkv, 0, shape.heads * shape.head_dim);
  expect_same_bits(attend_again(q, rows, slices, o), written);
  EXPECT_EQ(rows[0]->offset(), tokens);
}

TEST_P(AttendShapes, ATokenAtATimeEqualsAllAtOnce) {
  const auto& [shape, tokens] = GetParam();
  const auto o = options_of(shape);
  const Array qkv = tokens_of(shape, tokens, 2);
  const Array all = attend_row(qkv, pages_for(shape), o);
  expect_same_bits(attend_in_parts(qkv, std::vector<int>(tokens, 1), pages_for(shape), o), all);
}

TEST_P(AttendShapes, ChunksEqualAllAtOnce) {
  const auto& [shape, tokens] = GetParam();
  const auto o = options_of(shape);
  const Array qkv = tokens_of(shape, tokens, 3);
  std::vector<int> parts;
  for (int left = tokens, next = 1; left > 0; left -= parts.back(), next = 2 * next + 3) {
    parts.push_back(std::min(next, left));
  }
  const Array all = attend_row(qkv, pages_for(shape), o);
  expect_same_bits(attend_in_parts(qkv, parts, pages_for(shape), o), all);
}

TEST_P(AttendShapes, TheNumberOfThreadsChangesNothing) {
  const auto& [shape, tokens] = GetParam();
  const auto o = options_of(shape);
  const Array qkv = tokens_of(shape, tokens + 1, 4);
  const std::vector<int> parts{tokens, 1};
  set_threads(1);
  const Array one = attend_in_parts(qkv, parts, pages_for(shape), o);
  for (const int count : {2, 5}) {
    set_threads(count);
    expect_same_bits(attend_in_parts(qkv, parts, pages_for(shape), o), one);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AttendShapes,
                         ::testing::Values(Case{{1, 1, 16}, 1}, Case{{9, 3, 64}, 63},
                                           Case{{9, 3, 64}, 64}, Case{{9, 3, 64}, 65},
                                           Case{{9, 3, 64}, 700}, Case{{4, 4, 80}, 130},
                                           Case{{4, 1, 128}, 513}, Case{{6, 2, 40, 5}, 150},
                                           Case{{6, 2, 40, 64}, 300}, Case{{8, 2, 96, 100}, 1100},
                                           Case{{2, 2, 32, 600}, 1300}, Case{{32, 1, 64}, 70},
                                           Case{{4, 2, 64, 0, 16}, 90},
                                           Case{{4, 2, 64, 0, 32, true}, 90},
                                           Case{{4, 2, 64, 0, 0}, 90}, Case{{2, 1, 20}, 67}));

using Attend = KernelTest;

TEST_F(Attend, SeparateInputsEqualOne) {
  const Shape s{6, 2, 32};
  const auto o = options_of(s);
  const Array qkv = tokens_of(s, 70, 1);
  const Array q = mx::reshape(columns(qkv, 0, 192), {70, 6, 32});
  const Array k = mx::reshape(columns(qkv, 192, 64), {1, 70, 64});
  const Array v = mx::slice(qkv, {0, 256}, {70, 320});  // not in row order
  const std::shared_ptr<PagedKv> rows[] = {pages_for(s)};
  const RowSlice slices[] = {{0, 70}};
  expect_same_bits(attend(q, k, v, rows, slices, o), attend_row(qkv, pages_for(s), o));
}

TEST_F(Attend, NormsEveryHeadFirst) {
  const Shape s{6, 2, 32};
  auto o = options_of(s);
  o.q_norm = normal({32}, 1);
  o.k_norm = mx::add(normal({32}, 2), Array(1.0f));
  o.norm_eps = 1e-5f;
  const Array qkv = tokens_of(s, 100, 3);
  const Array got = attend_row(qkv, pages_for(s), o);
  expect_within(got, plain_attention(s, qkv, o), Array(bound));
  expect_same_bits(attend_in_parts(qkv, std::vector<int>(100, 1), pages_for(s), o), got);
}

TEST_F(Attend, RotatesByScaledPositionsAndScaledMagnitude) {
  const Shape s{2, 1, 32, 0, 16};
  auto o = options_of(s);
  o.rope.scale = 0.25f;
  const Array qkv = tokens_of(s, 80, 1);
  expect_within(attend_row(qkv, pages_for(s), o), plain_attention(s, qkv, o), Array(bound));
  // The magnitude goes into the rotated half of q and k alike.
  auto magnified = o;
  magnified.rope.mscale = 1.5f;
  std::vector<float> factors(s.width(), 1.0f);
  for (int head = 0; head < 3; ++head) {
    for (int i = 0; i < 16; ++i) factors[head * 32 + i] = 1.5f;
  }
  const Array scaled = mx::multiply(qkv, Array(factors.begin(), {s.width()}));
  expect_within(attend_row(qkv, pages_for(s), magnified), plain_attention(s, scaled, o),
                Array(bound));
}

TEST_F(Attend, RowsOfAnyLengthInOneStepEqualEachAlone) {
  for (const int window : {0, 50}) {
    const Shape s{9, 3, 64, window};
    const auto o = options_of(s);
    const std::vector<int> before{0, 63, 64, 700, 1, 200}, lengths{70, 1, 1, 1, 130, 2};
    std::vector<std::shared_ptr<PagedKv>> rows;
    std::vector<Array> steps, alone;
    std::vector<RowSlice> slices;
    int start = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Array qkv = tokens_of(s, before[i] + lengths[i], 10 + i);
      const auto all = attend_row(qkv, pages_for(s), o);
      rows.push_back(pages_for(s));
      if (before[i] > 0) attend_row(rows_of(qkv, 0, before[i]), rows[i], o);
      steps.push_back(rows_of(qkv, before[i], lengths[i]));
      alone.push_back(rows_of(all, before[i], lengths[i]));
      slices.push_back({start, lengths[i]});
      start += lengths[i];
    }
    expect_same_bits(attend(mx::concatenate(steps, 0), rows, slices, o), mx::concatenate(alone, 0));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i]->offset(), before[i] + lengths[i]);
    }
  }
}

TEST_F(Attend, StepsBuiltBeforeTheyRunKeepTheirOrder) {
  const Shape s{4, 2, 32};
  const auto o = options_of(s);
  const Array qkv = tokens_of(s, 90, 1);
  const std::shared_ptr<PagedKv> rows[] = {pages_for(s)};
  std::vector<Array> lazy;
  for (const auto& [first, length] : {std::pair{0, 40}, {40, 30}, {70, 20}}) {
    const RowSlice slices[] = {{0, length}};
    lazy.push_back(attend(rows_of(qkv, first, length), rows, slices, o));
  }
  lazy[2].eval();  // what it needs of the others comes first
  expect_same_bits(mx::concatenate(lazy, 0), attend_row(qkv, pages_for(s), o));
}

TEST_F(Attend, ABadTokenSpoilsNothingBeforeIt) {
  const Shape s{4, 2, 32};
  const auto o = options_of(s);
  const Array qkv = tokens_of(s, 70, 1);
  const Array nan = mx::full({1, s.width()}, std::numeric_limits<float>::quiet_NaN());
  const Array spoiled = mx::slice_update(qkv, nan, mx::Shape{40, 0}, mx::Shape{41, s.width()});
  const Array clean = attend_row(qkv, pages_for(s), o);
  const Array got = attend_row(spoiled, pages_for(s), o);
  expect_same_bits(rows_of(got, 0, 40), rows_of(clean, 0, 40));
  EXPECT_FALSE(mx::any(mx::isfinite(rows_of(got, 40, 30))).item<bool>());
}

TEST_F(Attend, LargeScoresDoNotOverflow) {
  const Shape s{4, 2, 32};
  const auto o = options_of(s);
  const Array qkv = mx::multiply(tokens_of(s, 70, 1), Array(100.0f));
  EXPECT_TRUE(mx::all(mx::isfinite(attend_row(qkv, pages_for(s), o))).item<bool>());
}

TEST_F(Attend, SaysWhatIsWrong) {
  const Shape s{4, 2, 32};
  const auto o = options_of(s);
  const Array qkv = tokens_of(s, 10, 1);
  const std::shared_ptr<PagedKv> rows[] = {pages_for(s)};
  const RowSlice right[] = {{0, 10}}, short_by_one[] = {{0, 9}}, beyond[] = {{1, 10}};
  EXPECT_THROW(attend(qkv, rows, short_by_one, o), std::invalid_argument);
  EXPECT_THROW(attend(qkv, rows, beyond, o), std::invalid_argument);
  EXPECT_THROW(attend(qkv, {}, {}, o), std::invalid_argument);
  EXPECT_THROW(attend(tokens_of({4, 2, 30}, 10, 1), rows, right, o), std::invalid_argument);
  const std::shared_ptr<PagedKv> others[] = {pages_for({4, 1, 32})};
  EXPECT_THROW(attend(qkv, others, right, o), std::invalid_argument);
  auto bad = o;
  bad.rope.dims = 64;
  EXPECT_THROW(attend(qkv, rows, right, bad), std::invalid_argument);
  EXPECT_EQ(rows[0]->offset(), 0);
}

}  // namespace
}  // namespace hearth::kernels
