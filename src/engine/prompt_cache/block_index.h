// Which blocks are kept in memory: found by their keys, left least recently used first under a
// budget. Plain bookkeeping: it looks at no keys and values, and its tests need no model.
#pragma once

#include <chrono>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/prompt_cache/cached_block.h"

namespace hearth::engine {

class BlockIndex {
 public:
  using Clock = std::chrono::steady_clock;

  explicit BlockIndex(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// The block of this name; null where there is none, or its tokens or parent are others.
  const CachedBlock* find(const BlockKey& key, const BlockKey& parent,
                          std::span<const TokenId> tokens) const;
  const CachedBlock* find(const BlockKey& key) const;

  /// Adds a block, or the tail that one lacked, as the most recently used.
  /// @param keeps_tail  its tail leaves with the block alone; else before any whole block
  /// @return  what had to leave for it; it may be among them
  std::vector<CachedBlock> put(CachedBlock block, bool keeps_tail, Clock::time_point now);

  /// Sets the budget. @return  what had to leave for it
  std::vector<CachedBlock> resize(std::size_t max_bytes);

  /// The chain was used: its first block is the most recent now, so that ends leave before
  /// beginnings. With a session its blocks are passed over once when their turn to leave comes.
  void touch(std::span<const BlockKey> chain, std::string_view session, Clock::time_point now);

  /// Prompts go on from here: the tail stays as long as its block.
  void keep_tail(const BlockKey& key);

  bool keeps_tail(const BlockKey& key) const;

  /// Forgets what touch() was told of a session; drops no block.
  void close_session(std::string_view session);

  /// Takes out blocks not used since `before` that `may_leave` lets go.
  template <class MayLeave>
  std::size_t drop_unused(Clock::time_point before, const MayLeave& may_leave);

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& node : order_) visit(node.block);
  }

  std::size_t entries() const { return order_.size(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t max_bytes() const { return max_bytes_; }
  /// Whether all sums and links hold; for tests.
  bool check_invariants() const;

 private:
  struct Node {
    CachedBlock block;
    Clock::time_point used;
    std::string session;
    std::list<BlockKey>::iterator loose;  // in loose_tails_, if is_loose
    bool is_loose = false;
  };
  using Nodes = std::list<Node>;

  static std::size_t bytes_of(const CachedBlock& block);
  void make_loose(Node& node);
  void tighten(Node& node);
  CachedBlock remove(Nodes::iterator node);
  std::vector<CachedBlock> shrink();

  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  Nodes order_;                      // most recently used first
  std::list<BlockKey> loose_tails_;  // oldest last: tails that leave before any block
  std::unordered_map<BlockKey, Nodes::iterator, BlockKeyHash> nodes_;
};

template <class MayLeave>
std::size_t BlockIndex::drop_unused(Clock::time_point before, const MayLeave& may_leave) {
  std::size_t dropped = 0;
  for (auto it = order_.end(); it != order_.begin();) {
    const auto node = std::prev(it);
    if (node->used < before && may_leave(node->block)) {
      remove(node);
      ++dropped;
    } else {
      it = node;
    }
  }
  return dropped;
}

}  // namespace hearth::engine
