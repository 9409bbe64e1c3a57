#include "tensor/cache/state.h"

#include <gtest/gtest.h>

namespace hearth::tensor {
namespace {

struct StateCacheTest : testing::Test {
  StateCache cache{2};

  void SetUp() override {
    mx::set_default_device(mx::Device::cpu);
    step(4, 1.0f);
  }
  void step(int tokens, float value) {
    cache.set(0, mx::full({1, 3, 8}, value, mx::bfloat16));
    cache.set(1, mx::full({1, 2, 4, 4}, 2 * value, mx::float32));
    cache.advance(tokens);
  }
  static float first(const StateCache& of, int which) {
    return mx::astype(mx::max(*of.get(which)), mx::float32).item<float>();
  }
};

TEST_F(StateCacheTest, ABlockGoesThroughBytesAndStartsAnother) {
  EXPECT_EQ(cache.block(0, 3), nullptr) << "the state at another position is gone";
  const auto block = cache.block(0, 4);
  ASSERT_TRUE(block);
  const auto read = cache.parse_block(block->format(), block->bytes());
  ASSERT_TRUE(read);
  StateCache other(2);
  ASSERT_TRUE(other.start({&read, 1}, 4));
  EXPECT_EQ(other.offset(), 4);
  EXPECT_EQ(first(other, 0), 1);
  EXPECT_EQ(first(other, 1), 2);
}

TEST_F(StateCacheTest, WhatIsNoBlockOfItIsRefused) {
  const auto block = cache.block(0, 4);
  const auto format = block->format();
  EXPECT_FALSE(cache.parse_block(format, block->bytes().subspan(1)));
  EXPECT_FALSE(cache.parse_block("state: float32 1 99999999; float32 1 1; ", block->bytes()));
  EXPECT_FALSE(cache.parse_block("bfloat16 2x3x4", block->bytes()));
  StateCache one(1);
  EXPECT_FALSE(one.parse_block(format, block->bytes()));
  EXPECT_FALSE(one.start({&block, 1}, 4));
}

TEST_F(StateCacheTest, AFailedStepIsTakenBack) {
  EXPECT_FALSE(cache.roll_back());
  cache.mark();
  step(2, 5.0f);
  EXPECT_EQ(cache.offset(), 6);
  EXPECT_TRUE(cache.roll_back());
  EXPECT_EQ(cache.offset(), 4);
  EXPECT_EQ(first(cache, 0), 1);
  EXPECT_FALSE(cache.trim(1));
}

}  // namespace
}  // namespace hearth::tensor
