// A block of tokens with what the model's layers kept of them.
#pragma once

#include <memory>
#include <vector>

#include "engine/prompt_cache/block_key.h"
#include "tensor/cache/kv_block.h"

namespace hearth::engine {

/// Layers fall into two parts: those that need all of the past, and those that go on from its end
/// (sliding windows, recurrent state), which need not be kept at every block.
enum class Part { base, tail };
inline constexpr Part parts[] = {Part::base, Part::tail};

/// What one part's layers kept of a block, in the layers' order.
struct PartBlocks {
  explicit PartBlocks(std::vector<tensor::KvBlockPtr> blocks) : layers(std::move(blocks)) {
    for (const auto& layer : layers) bytes += layer->bytes().size();
  }

  const std::vector<tensor::KvBlockPtr> layers;
  std::size_t bytes = 0;
};
using PartPtr = std::shared_ptr<const PartBlocks>;

struct CachedBlock {
  BlockKey key, parent;
  std::vector<TokenId> tokens;
  int end = 0;   // tokens of the prompt up to the block's end
  PartPtr base;  // there even where no layer is of this part
  PartPtr tail;  // null: not kept here

  const PartPtr& part(Part which) const { return which == Part::base ? base : tail; }
};

}  // namespace hearth::engine
