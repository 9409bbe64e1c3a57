#include "engine/prompt_cache/cache_layout.h"

#include <algorithm>

namespace hearth::engine {

using tensor::KvBlockPtr;
using tensor::PastNeeded;

CacheLayout CacheLayout::of(const tensor::SequenceCache& caches, int block_tokens) {
  CacheLayout layout;
  layout.block_tokens = block_tokens > 0 ? block_tokens : 1;
  if (block_tokens == 0) {
    for (const auto& cache : caches) {
      layout.block_tokens = std::max(layout.block_tokens, cache->block_tokens());
    }
  }
  for (int i = 0; i < int(caches.size()); ++i) {
    const auto need = caches[i]->past_needed();
    if (need.kind == PastNeeded::Kind::all) {
      layout.base.push_back(i);
      continue;
    }
    const bool state = need.kind == PastNeeded::Kind::state;
    layout.states = layout.states || state;
    const int blocks = state ? 1 : (need.tokens + layout.block_tokens - 1) / layout.block_tokens;
    layout.tail.push_back({i, blocks});
    layout.tail_blocks = std::max({layout.tail_blocks, blocks, 1});
  }
  return layout;
}

std::vector<int> CacheLayout::layers_of(Part part) const {
  if (part == Part::base) return base;
  std::vector<int> layers;
  for (const auto& one : tail) layers.push_back(one.layer);
  return layers;
}

PartPtr CacheLayout::take_from(const tensor::SequenceCache& caches, Part part, int from,
                               int to) const {
  std::vector<KvBlockPtr> blocks;
  for (const int layer : layers_of(part)) {
    auto block = caches[layer]->block(from, to);
    if (!block) return nullptr;
    blocks.push_back(std::move(block));
  }
  return std::make_shared<PartBlocks>(std::move(blocks));
}

bool CacheLayout::start(tensor::SequenceCache& caches, std::span<const CachedBlock> chain,
                        int offset) const {
  const auto start_layer = [&](int layer, Part part, std::size_t index, std::size_t count) {
    std::vector<KvBlockPtr> blocks;
    for (const auto& block : chain.last(count)) blocks.push_back(block.part(part)->layers[index]);
    return caches[layer]->start(blocks, offset);
  };
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!start_layer(base[i], Part::base, i, chain.size())) return false;
  }
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const auto count = std::min(chain.size(), std::size_t(tail[i].blocks));
    if (!start_layer(tail[i].layer, Part::tail, i, count)) return false;
  }
  return true;
}

std::size_t CacheLayout::resumable(std::span<const CachedBlock> chain) const {
  std::size_t whole = 0, run = 0;  // blocks with a tail, one after another up to here
  for (std::size_t i = 0; i < chain.size(); ++i) {
    run = chain[i].tail ? run + 1 : 0;
    const bool enough = tail.empty() || run >= std::min(i + 1, std::size_t(tail_blocks));
    if (enough) whole = i + 1;
  }
  return whole;
}

PartPtr CacheLayout::parse(const tensor::SequenceCache& caches, Part part,
                           std::span<const std::string> formats,
                           std::span<const std::span<const std::byte>> bytes) const {
  const auto layers = layers_of(part);
  if (formats.size() != layers.size() || bytes.size() != layers.size()) return nullptr;
  std::vector<KvBlockPtr> blocks;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto block = caches[layers[i]]->parse_block(formats[i], bytes[i]);
    if (!block) return nullptr;
    blocks.push_back(std::move(block));
  }
  return std::make_shared<PartBlocks>(std::move(blocks));
}

}  // namespace hearth::engine
