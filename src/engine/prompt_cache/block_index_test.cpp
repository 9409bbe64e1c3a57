#include "engine/prompt_cache/block_index.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/prompt_cache/testing.h"

namespace hearth::engine {
namespace {

using Clock = BlockIndex::Clock;
const Clock::time_point start{};

/// The keys of a chain of blocks of one token each.
std::vector<BlockKey> chain_of(std::span<const TokenId> tokens) {
  std::vector<BlockKey> keys;
  for (const auto& id : tokens) {
    keys.push_back(child_key(keys.empty() ? root_key("") : keys.back(), {&id, 1}));
  }
  return keys;
}

CachedBlock block_after(const BlockKey& parent, TokenId id, std::size_t bytes,
                        std::size_t tail = 0) {
  return {.key = child_key(parent, {&id, 1}),
          .parent = parent,
          .tokens = {id},
          .base = part_of(bytes),
          .tail = tail > 0 ? part_of(tail) : nullptr};
}

/// Puts blocks of 1000 bytes for a chain of tokens.
void put_chain(BlockIndex& index, std::vector<TokenId> tokens, std::size_t tail = 0) {
  auto parent = root_key("");
  for (const auto id : tokens) {
    auto block = block_after(parent, id, 1000, tail);
    parent = block.key;
    index.put(std::move(block), false, start);
  }
  index.touch(chain_of(tokens), "", start);
}

int held(const BlockIndex& index, std::vector<TokenId> tokens) {
  int count = 0;
  for (const auto& key : chain_of(tokens)) {
    if (!index.find(key)) break;
    ++count;
  }
  return count;
}

TEST(BlockKeyTest, ChainsFromTheScope) {
  const std::vector<TokenId> a{1, 2}, b{3};
  const auto root = root_key("x");
  EXPECT_EQ(child_key(root, a), child_key(root, a));
  EXPECT_NE(child_key(root, a), child_key(root_key("y"), a));
  EXPECT_NE(child_key(root, a), child_key(root, b));
  EXPECT_NE(child_key(child_key(root, a), b), child_key(root, b));
  const auto key = child_key(root, a);
  EXPECT_EQ(parse_block_key(to_string(key)), key);
  EXPECT_FALSE(parse_block_key("12"));
  EXPECT_FALSE(parse_block_key(std::string(31, '0') + "x"));
}

TEST(BlockIndexTest, FindsABlockOnlyWithItsTokensAndParent) {
  BlockIndex index(100000);
  const auto root = root_key("");
  index.put(block_after(root, 7, 1000), false, start);
  const TokenId id = 7, other = 8;
  const auto key = child_key(root, {&id, 1});
  EXPECT_TRUE(index.find(key, root, {&id, 1}));
  EXPECT_FALSE(index.find(key, root, {&other, 1}));  // as if the keys had collided
  EXPECT_FALSE(index.find(key, key, {&id, 1}));
}

TEST(BlockIndexTest, ACollisionNeverReplacesABlock) {
  BlockIndex index(100000);
  auto first = block_after(root_key(""), 7, 1000);
  auto second = first;
  second.tokens = {8};
  second.tail = part_of(10);
  index.put(first, false, start);
  index.put(second, false, start);
  EXPECT_EQ(index.find(first.key)->tokens, first.tokens);
  EXPECT_FALSE(index.find(first.key)->tail);
  EXPECT_TRUE(index.check_invariants());
}

TEST(BlockIndexTest, TheLeastRecentlyUsedChainLeavesFromItsEnd) {
  BlockIndex index(7 * 1300);
  put_chain(index, {1, 2, 3});
  put_chain(index, {4, 5, 6});
  index.touch(chain_of(std::vector<TokenId>{1, 2, 3}), "", start);
  put_chain(index, {7, 8});
  EXPECT_EQ(held(index, {1, 2, 3}), 3);
  EXPECT_EQ(held(index, {4, 5, 6}), 2);
  EXPECT_EQ(held(index, {7, 8}), 2);
  EXPECT_TRUE(index.check_invariants());
}

TEST(BlockIndexTest, ForksShareTheirBeginning) {
  BlockIndex index(100000);
  put_chain(index, {1, 2, 3});
  put_chain(index, {1, 2, 4});
  EXPECT_EQ(index.entries(), 4u);
  EXPECT_EQ(held(index, {1, 2, 3}), 3);
  EXPECT_EQ(held(index, {1, 2, 4}), 3);
}

TEST(BlockIndexTest, WhatIsLargerThanTheBudgetIsNotKept) {
  BlockIndex index(500);
  const auto gone = index.put(block_after(root_key(""), 1, 1000), false, start);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].tokens, std::vector<TokenId>{1});
  EXPECT_EQ(index.entries(), 0u);
  EXPECT_EQ(index.bytes(), 0u);
}

TEST(BlockIndexTest, LooseTailsLeaveFirstAndKeptOnesWithTheirBlock) {
  BlockIndex index(4 * 1300 + 2 * 4000);
  put_chain(index, {1, 2}, 4000);
  const auto keys = chain_of(std::vector<TokenId>{1, 2});
  index.keep_tail(keys[1]);
  put_chain(index, {3, 4});
  ASSERT_TRUE(index.find(keys[0])->tail && index.find(keys[1])->tail);
  put_chain(index, {5, 6});
  EXPECT_EQ(held(index, {1, 2}), 2);
  EXPECT_FALSE(index.find(keys[0])->tail);
  EXPECT_TRUE(index.find(keys[1])->tail);
  EXPECT_TRUE(index.check_invariants());
}

TEST(BlockIndexTest, ATailIsAddedToTheBlockThatLackedIt) {
  BlockIndex index(100000);
  put_chain(index, {1});
  EXPECT_FALSE(index.find(chain_of(std::vector<TokenId>{1})[0])->tail);
  put_chain(index, {1}, 50);
  EXPECT_TRUE(index.find(chain_of(std::vector<TokenId>{1})[0])->tail);
  EXPECT_TRUE(index.check_invariants());
}

TEST(BlockIndexTest, ASessionsBlocksArePassedOverOnce) {
  BlockIndex index(4 * 1300);
  put_chain(index, {1, 2});
  index.touch(chain_of(std::vector<TokenId>{1, 2}), "mine", start);
  put_chain(index, {3, 4});
  put_chain(index, {5, 6});
  EXPECT_EQ(held(index, {1, 2}), 2);
  EXPECT_EQ(held(index, {3, 4}), 0);
  put_chain(index, {7, 8});
  put_chain(index, {9, 10});
  EXPECT_EQ(held(index, {1, 2}), 0);
  EXPECT_TRUE(index.check_invariants());
}

TEST(BlockIndexTest, AClosedSessionHasNoPrivilege) {
  BlockIndex index(4 * 1300);
  put_chain(index, {1, 2});
  index.touch(chain_of(std::vector<TokenId>{1, 2}), "mine", start);
  index.close_session("mine");
  put_chain(index, {3, 4});
  put_chain(index, {5, 6});
  EXPECT_EQ(held(index, {1, 2}), 0);
  EXPECT_EQ(held(index, {3, 4}), 2);
}

TEST(BlockIndexTest, UnusedBlocksLeaveIfTheyMay) {
  BlockIndex index(100000);
  put_chain(index, {1, 2});
  const auto later = start + std::chrono::seconds(10);
  index.put(block_after(root_key(""), 9, 10), false, later);
  const auto dropped =
      index.drop_unused(start + std::chrono::seconds(5),
                        [](const CachedBlock& block) { return block.tokens[0] == 2; });
  EXPECT_EQ(dropped, 1u);
  EXPECT_EQ(held(index, {1, 2}), 1);
  EXPECT_EQ(held(index, {9}), 1);
  EXPECT_TRUE(index.check_invariants());
}

TEST(BlockIndexTest, HoldsItsInvariantsThroughRandomUse) {
  std::mt19937 random(1);
  BlockIndex index(40 * 1300);
  for (int round = 0; round < 3000; ++round) {
    std::vector<TokenId> tokens;
    for (unsigned i = 0; i < 1 + random() % 8; ++i) tokens.push_back(TokenId(random() % 3));
    const auto keys = chain_of(tokens);
    switch (random() % 5) {
      case 0:
        index.touch(keys, random() % 2 ? "a" : "", start);
        break;
      case 1:
        index.keep_tail(keys[random() % keys.size()]);
        break;
      case 2:
        index.close_session("a");
        break;
      default:
        put_chain(index, tokens, random() % 2 ? 0 : 700);
    }
    ASSERT_TRUE(index.check_invariants()) << round;
  }
}

TEST(BlockIndex, ASmallerBudgetHasTheOldestLeave) {
  BlockIndex index(100'000);
  put_chain(index, {1, 2, 3});
  put_chain(index, {4, 5, 6});
  const auto gone = index.resize(4'000);
  EXPECT_FALSE(gone.empty());
  EXPECT_EQ(held(index, {4, 5, 6}), 6 - int(gone.size()));
  EXPECT_LE(index.bytes(), 4'000u);
  EXPECT_TRUE(index.check_invariants());
  EXPECT_TRUE(index.resize(100'000).empty());
  put_chain(index, {1, 2, 3});
  EXPECT_EQ(held(index, {1, 2, 3}), 3);
}

}  // namespace
}  // namespace hearth::engine
