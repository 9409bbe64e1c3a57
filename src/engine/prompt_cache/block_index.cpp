#include "engine/prompt_cache/block_index.h"

#include <algorithm>

namespace hearth::engine {

const CachedBlock* BlockIndex::find(const BlockKey& key) const {
  const auto found = nodes_.find(key);
  return found == nodes_.end() ? nullptr : &found->second->block;
}

const CachedBlock* BlockIndex::find(const BlockKey& key, const BlockKey& parent,
                                    std::span<const TokenId> tokens) const {
  const auto* block = find(key);
  if (!block || block->parent != parent) return nullptr;
  return std::ranges::equal(block->tokens, tokens) ? block : nullptr;
}

std::size_t BlockIndex::bytes_of(const CachedBlock& block) {
  constexpr std::size_t bookkeeping = sizeof(Node) + 4 * sizeof(void*);
  return bookkeeping + block.tokens.size() * sizeof(TokenId) + block.base->bytes +
         (block.tail ? block.tail->bytes : 0);
}

void BlockIndex::make_loose(Node& node) {
  loose_tails_.push_front(node.block.key);
  node.loose = loose_tails_.begin();
  node.is_loose = true;
}

void BlockIndex::tighten(Node& node) {
  if (node.is_loose) loose_tails_.erase(node.loose);
  node.is_loose = false;
}

CachedBlock BlockIndex::remove(Nodes::iterator node) {
  tighten(*node);
  bytes_ -= bytes_of(node->block);
  nodes_.erase(node->block.key);
  CachedBlock block = std::move(node->block);
  order_.erase(node);
  return block;
}

std::vector<CachedBlock> BlockIndex::put(CachedBlock block, bool keeps_tail,
                                         Clock::time_point now) {
  const auto found = nodes_.find(block.key);
  if (found == nodes_.end()) {
    bytes_ += bytes_of(block);
    order_.push_front({.block = std::move(block), .used = now});
    nodes_.emplace(order_.front().block.key, order_.begin());
    if (order_.front().block.tail && !keeps_tail) make_loose(order_.front());
    return shrink();
  }
  Node& node = *found->second;
  if (node.block.parent != block.parent || node.block.tokens != block.tokens) return {};
  if (!node.block.tail && block.tail) {
    bytes_ += block.tail->bytes;
    node.block.tail = std::move(block.tail);
    if (!keeps_tail) make_loose(node);
  }
  if (keeps_tail) tighten(node);
  node.used = now;
  order_.splice(order_.begin(), order_, found->second);
  return shrink();
}

/// Loose tails first, then whole blocks. A tail that leaves comes back as a block of its own.
std::vector<CachedBlock> BlockIndex::shrink() {
  std::vector<CachedBlock> gone;
  while (bytes_ > max_bytes_ && !loose_tails_.empty()) {
    Node& node = *nodes_.at(loose_tails_.back());
    tighten(node);
    bytes_ -= node.block.tail->bytes;
    gone.push_back(node.block);
    gone.back().base = nullptr;
    node.block.tail = nullptr;
  }
  while (bytes_ > max_bytes_) {
    const auto last = std::prev(order_.end());
    if (last->session.empty()) {
      gone.push_back(remove(last));
    } else {
      last->session.clear();
      order_.splice(order_.begin(), order_, last);
    }
  }
  return gone;
}

std::vector<CachedBlock> BlockIndex::resize(std::size_t max_bytes) {
  max_bytes_ = max_bytes;
  return shrink();
}

void BlockIndex::touch(std::span<const BlockKey> chain, std::string_view session,
                       Clock::time_point now) {
  for (std::size_t i = chain.size(); i-- > 0;) {
    const auto found = nodes_.find(chain[i]);
    if (found == nodes_.end()) continue;
    Node& node = *found->second;
    node.used = now;
    if (!session.empty()) node.session = session;
    order_.splice(order_.begin(), order_, found->second);
  }
}

void BlockIndex::keep_tail(const BlockKey& key) {
  if (const auto found = nodes_.find(key); found != nodes_.end()) tighten(*found->second);
}

bool BlockIndex::keeps_tail(const BlockKey& key) const {
  const auto found = nodes_.find(key);
  return found != nodes_.end() && found->second->block.tail && !found->second->is_loose;
}

void BlockIndex::close_session(std::string_view session) {
  for (auto& node : order_) {
    if (node.session == session) node.session.clear();
  }
}

bool BlockIndex::check_invariants() const {
  std::size_t bytes = 0, loose = 0;
  for (auto it = order_.begin(); it != order_.end(); ++it) {
    const auto found = nodes_.find(it->block.key);
    if (found == nodes_.end() || found->second != it || !it->block.base) return false;
    if (it->is_loose && (!it->block.tail || *it->loose != it->block.key)) return false;
    bytes += bytes_of(it->block);
    loose += it->is_loose;
  }
  return bytes == bytes_ && bytes_ <= max_bytes_ && nodes_.size() == order_.size() &&
         loose == loose_tails_.size();
}

}  // namespace hearth::engine
