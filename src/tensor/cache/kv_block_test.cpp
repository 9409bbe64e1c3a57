// Every cache kind: what starts from blocks goes on as the cache that gave them, to the bit.
#include "tensor/cache/kv_block.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mlx/random.h"
#include "tensor/cache/kv_cache.h"
#include "tensor/kernels/testing.h"

namespace hearth::tensor {
namespace {

using kernels::testing::expect_same_bits;

constexpr int heads = 4, kv_heads = 2, head_dim = 32;
constexpr float scale = 0.2f;

struct Kind {
  const char* name;
  int window;
  bool kernels;
  mx::Dtype dtype;
};

struct Step {
  Array q, k, v;
};

Step step_of(const Kind& kind, int length, int seed) {
  const auto some = [&](int h, int which) {
    const auto key = mx::random::key(seed * 10 + which);
    return mx::astype(mx::random::normal({1, h, length, head_dim}, mx::float32, key), kind.dtype);
  };
  return {some(heads, 0), some(kv_heads, 1), some(kv_heads, 2)};
}

class KvBlockTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { mx::set_default_device(mx::Device(mx::Device::cpu)); }

  std::unique_ptr<KvCache> cache() const {
    return make_cache({kv_heads, head_dim, GetParam().window}, GetParam().kernels);
  }

  Array run(KvCache& cache, int length, int seed) const {
    const auto step = step_of(GetParam(), length, seed);
    auto out = mx::astype(cache.attend(step.q, step.k, step.v, {scale}), mx::float32);
    mx::eval(out);
    return out;
  }

  /// Of the tests' blocks: arrays may be of any length, and plain attention is slow.
  static int size_of(const KvCache& cache) { return std::min(64, cache.block_tokens()); }

  /// What start() needs of the first `offset` tokens, of which a cache was just fed the last.
  static std::vector<KvBlockPtr> past(const KvCache& cache, int offset) {
    const auto need = cache.past_needed();
    const int size = size_of(cache);
    if (need.kind == PastNeeded::Kind::state) return {cache.block(offset - size, offset)};
    const int from = need.kind == PastNeeded::Kind::all ? 0 : std::max(0, offset - need.tokens);
    std::vector<KvBlockPtr> blocks;
    for (int at = from / size * size; at < offset; at += size) {
      blocks.push_back(cache.block(at, at + size));
    }
    return blocks;
  }

  static KvBlockPtr through_bytes(const KvCache& cache, const KvBlock& block) {
    return cache.parse_block(block.format(), block.bytes());
  }
};

TEST_P(KvBlockTest, GoesOnAsTheCacheThatGaveThem) {
  for (const int blocks : {1, 2, 5}) {
    const auto donor = cache();
    const int offset = blocks * size_of(*donor);
    run(*donor, offset, 1);
    const auto given = past(*donor, offset);
    for (const auto& block : given) ASSERT_TRUE(block);
    const auto heir = cache();
    ASSERT_TRUE(heir->start(given, offset));
    EXPECT_EQ(heir->offset(), offset);
    for (const int length : {1, 40, 1, 150, 1}) {
      SCOPED_TRACE(length);
      expect_same_bits(run(*heir, length, length), run(*donor, length, length));
    }
  }
}

TEST_P(KvBlockTest, HeirsDoNotDisturbOneAnotherNorTheirBlocks) {
  const auto donor = cache();
  const int offset = 3 * size_of(*donor);
  run(*donor, offset, 1);
  const auto given = past(*donor, offset);
  std::vector<std::vector<std::byte>> before;
  for (const auto& block : given) {
    before.emplace_back(block->bytes().begin(), block->bytes().end());
  }
  const auto a = cache(), b = cache();
  ASSERT_TRUE(a->start(given, offset) && b->start(given, offset));
  const auto first = run(*a, 70, 2);
  run(*b, 70, 3);
  run(*donor, 70, 4);
  EXPECT_EQ(a->trim(30), a->past_needed().kind != PastNeeded::Kind::state);
  run(*a, 1, 5);
  const auto again = cache();
  ASSERT_TRUE(again->start(given, offset));
  expect_same_bits(run(*again, 70, 2), first);
  for (std::size_t i = 0; i < given.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(given[i]->bytes(), before[i])) << i;
  }
}

TEST_P(KvBlockTest, SurviveAsBytes) {
  const auto donor = cache();
  const int offset = 2 * size_of(*donor);
  run(*donor, offset, 1);
  std::vector<KvBlockPtr> read;
  for (const auto& block : past(*donor, offset)) {
    read.push_back(through_bytes(*donor, *block));
    ASSERT_TRUE(read.back());
    EXPECT_EQ(read.back()->format(), block->format());
    EXPECT_TRUE(std::ranges::equal(read.back()->bytes(), block->bytes()));
    EXPECT_FALSE(donor->parse_block(block->format(), block->bytes().subspan(1)));
    EXPECT_FALSE(donor->parse_block("f64 of old", block->bytes()));
    EXPECT_FALSE(donor->parse_block("", {}));
  }
  const auto heir = cache();
  ASSERT_TRUE(heir->start(read, offset));
  expect_same_bits(run(*heir, 5, 2), run(*donor, 5, 2));
}

TEST_P(KvBlockTest, WhatDoesNotFitIsRefusedWithNothingChanged) {
  const auto donor = cache();
  const int size = size_of(*donor), offset = 4 * size;
  run(*donor, offset, 1);
  const auto given = past(*donor, offset);
  const auto heir = cache();
  EXPECT_FALSE(heir->start({}, offset));
  EXPECT_FALSE(heir->start(std::span(given).first(given.size() - 1), offset));
  EXPECT_EQ(heir->offset(), 0);
  const auto other = make_cache({kv_heads, head_dim, GetParam().window}, !GetParam().kernels);
  EXPECT_FALSE(other->start(given, offset));
  EXPECT_FALSE(donor->block(offset, offset + size));
}

INSTANTIATE_TEST_SUITE_P(Kinds, KvBlockTest,
                         testing::Values(Kind{"contiguous", 0, false, mx::bfloat16},
                                         Kind{"contiguous_f32", 0, false, mx::float32},
                                         Kind{"rotating", 100, false, mx::bfloat16},
                                         Kind{"paged", 0, true, mx::float32},
                                         Kind{"paged_window", 100, true, mx::float32},
                                         Kind{"paged_window_of_pages", 129, true, mx::float32}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hearth::tensor
