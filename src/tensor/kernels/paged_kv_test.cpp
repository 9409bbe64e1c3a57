#include "tensor/kernels/paged_kv.h"

#include "tensor/kernels/attend_testing.h"

namespace hearth::kernels {
namespace {

using namespace testing;  // NOLINT: the helpers of this file's tests

using PagedKvTest = KernelTest;
const Shape shape{4, 2, 32};
const std::size_t page_bytes = std::size_t{2} * 2 * 64 * 32 * 2;

/// Outputs of tokens [first, first + count) with all before them already in `kv`.
Array expected(const Array& qkv, int first, int count, const Shape& s = shape) {
  const Array all = attend_row(rows_of(qkv, 0, first + count), pages_for(s), options_of(s));
  return rows_of(all, first, count);
}

TEST_F(PagedKvTest, TakesAPageForEvery64Tokens) {
  const auto kv = pages_for(shape);
  EXPECT_EQ(kv->bytes(), 0u);
  attend_row(tokens_of(shape, 64, 1), kv, options_of(shape));
  EXPECT_EQ(kv->bytes(), page_bytes);
  attend_row(tokens_of(shape, 1, 2), kv, options_of(shape));
  EXPECT_EQ(kv->bytes(), 2 * page_bytes);
  EXPECT_EQ(kv->offset(), 65);
}

TEST_F(PagedKvTest, ForgetsAndGoesOn) {
  const auto o = options_of(shape);
  const Array first = tokens_of(shape, 200, 1), other = tokens_of(shape, 200, 2);
  for (const int back_to : {0, 1, 63, 64, 65, 128, 199, 200}) {
    SCOPED_TRACE(back_to);
    const auto kv = pages_for(shape);
    attend_row(first, kv, o);
    kv->truncate(back_to);
    EXPECT_EQ(kv->offset(), back_to);
    EXPECT_EQ(kv->bytes(), (back_to + 63) / 64 * page_bytes);
    const Array mixed =
        back_to == 0 ? other : mx::concatenate({rows_of(first, 0, back_to), other}, 0);
    expect_same_bits(attend_row(other, kv, o), expected(mixed, back_to, 200));
  }
}

TEST_F(PagedKvTest, RollsBackWhatWasAppended) {
  EXPECT_FALSE(pages_for(shape)->roll_back());
  const Array start = tokens_of(shape, 100, 1), lost = tokens_of(shape, 90, 2);
  const Array next = tokens_of(shape, 70, 3);
  for (const bool evaluated : {false, true}) {
    for (const int window : {0, 40}) {
      SCOPED_TRACE(evaluated ? "evaluated" : "built alone");
      Shape s = shape;
      s.window = window;
      const auto o = options_of(s);
      const auto kv = pages_for(s);
      attend_row(start, kv, o);
      const auto copy = kv->clone();  // so that the last page is copied before it is written
      kv->mark();
      const std::shared_ptr<PagedKv> rows[] = {kv};
      const RowSlice slices[] = {{0, 90}};
      Array out = attend(lost, rows, slices, o);
      if (evaluated) out.eval();
      EXPECT_EQ(kv->offset(), 190);
      EXPECT_TRUE(kv->roll_back());
      EXPECT_EQ(kv->offset(), 100);
      const auto wanted = expected(mx::concatenate({start, next}, 0), 100, 70, s);
      expect_same_bits(attend_row(next, kv, o), wanted);
      expect_same_bits(attend_row(next, copy, o), wanted);
    }
  }
}

TEST_F(PagedKvTest, ACloneAndItsOriginalGoApart) {
  const auto o = options_of(shape);
  const Array start = tokens_of(shape, 130, 1);
  const Array a = tokens_of(shape, 100, 2), b = tokens_of(shape, 100, 3);
  for (const int length : {1, 64, 100, 128, 130}) {
    SCOPED_TRACE(length);
    const Array common = rows_of(start, 0, length);
    const auto original = pages_for(shape);
    attend_row(common, original, o);
    const auto copy = original->clone();
    EXPECT_EQ(copy->offset(), length);
    expect_same_bits(attend_row(a, copy, o),
                     expected(mx::concatenate({common, a}, 0), length, 100));
    expect_same_bits(attend_row(b, original, o),
                     expected(mx::concatenate({common, b}, 0), length, 100));
  }
}

TEST_F(PagedKvTest, ACloneKeepsWhatItsOriginalOverwrites) {
  const auto o = options_of(shape);
  const Array start = tokens_of(shape, 150, 1), next = tokens_of(shape, 70, 2);
  const auto original = pages_for(shape);
  attend_row(start, original, o);
  const auto copy = original->clone();
  const auto second = copy->clone();
  original->truncate(100);
  attend_row(next, original, o);
  copy->truncate(30);
  attend_row(next, copy, o);
  expect_same_bits(attend_row(next, second, o),
                   expected(mx::concatenate({start, next}, 0), 150, 70));
  expect_same_bits(attend_row(next, original, o),
                   expected(mx::concatenate({rows_of(start, 0, 100), next, next}, 0), 170, 70));
}

TEST_F(PagedKvTest, CanBeClonedBeforeItsTokensAreWritten) {
  const auto o = options_of(shape);
  const Array start = tokens_of(shape, 70, 1), a = tokens_of(shape, 3, 2),
              b = tokens_of(shape, 3, 3);
  const auto original = pages_for(shape);
  const std::shared_ptr<PagedKv> rows[] = {original};
  const RowSlice slices[] = {{0, 70}};
  const Array lazy = attend(start, rows, slices, o);
  const auto copy = original->clone();
  expect_same_bits(attend_row(b, copy, o), expected(mx::concatenate({start, b}, 0), 70, 3));
  expect_same_bits(attend_row(a, original, o), expected(mx::concatenate({start, a}, 0), 70, 3));
  expect_same_bits(lazy, expected(start, 0, 70));
}

TEST_F(PagedKvTest, AWindowGivesPagesBack) {
  const Shape s{4, 2, 32, 100};
  const auto o = options_of(s);
  const auto kv = pages_for(s);
  for (int i = 0; i < 20; ++i) attend_row(tokens_of(s, 50, i), kv, o);
  EXPECT_EQ(kv->offset(), 1000);
  EXPECT_LE(kv->bytes(), 4 * page_bytes);
  EXPECT_GE(kv->bytes(), 2 * page_bytes);
}

TEST_F(PagedKvTest, AWindowCanBeTakenBackByAPage) {
  const Shape s{4, 2, 32, 100};
  const auto o = options_of(s);
  const Array all = tokens_of(s, 1000, 1), next = tokens_of(s, 10, 2);
  const auto kv = pages_for(s);
  attend_in_parts(all, std::vector<int>(20, 50), kv, o);
  EXPECT_THROW(kv->truncate(500), std::invalid_argument);
  EXPECT_THROW(kv->truncate(1001), std::invalid_argument);
  EXPECT_THROW(kv->truncate(-1), std::invalid_argument);
  kv->truncate(940);
  expect_same_bits(attend_row(next, kv, o),
                   expected(mx::concatenate({rows_of(all, 0, 940), next}, 0), 940, 10, s));
}

TEST_F(PagedKvTest, SurvivesLongRandomUse) {
  const auto o = options_of(shape);
  const Array source = tokens_of(shape, 400, 9);
  struct Sequence {
    std::shared_ptr<PagedKv> kv;
    std::vector<int> tokens;  // rows of source
  };
  std::vector<Sequence> all{{pages_for(shape), {}}};
  std::uint32_t state = 7;
  const auto below = [&](std::uint32_t n) {
    return (state = state * 1664525u + 1013904223u) / 65536 % n;
  };
  for (int step = 0; step < 60; ++step) {
    auto& s = all[below(all.size())];
    if (below(4) == 0 && all.size() < 6) {
      all.push_back({s.kv->clone(), s.tokens});
      continue;
    }
    if (below(3) == 0) {
      s.tokens.resize(below(s.tokens.size() + 1));
      s.kv->truncate(static_cast<int>(s.tokens.size()));
    }
    const int first = below(300), count = 1 + below(90);
    for (int i = 0; i < count; ++i) s.tokens.push_back(first + i);
    const Array got = attend_row(rows_of(source, first, count), s.kv, o);
    const Array ids(s.tokens.begin(), {static_cast<int>(s.tokens.size())});
    const int before = static_cast<int>(s.tokens.size()) - count;
    expect_same_bits(got, expected(mx::take(source, ids, 0), before, count));
    ASSERT_EQ(s.kv->offset(), static_cast<int>(s.tokens.size()));
  }
}

TEST_F(PagedKvTest, RefusesImpossibleShapes) {
  EXPECT_THROW(PagedKv(0, 64, 0), std::invalid_argument);
  EXPECT_THROW(PagedKv(1, 0, 0), std::invalid_argument);
  EXPECT_THROW(PagedKv(1, 64, -1), std::invalid_argument);
}

}  // namespace
}  // namespace hearth::kernels
