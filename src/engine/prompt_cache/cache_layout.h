// Which of a model's layers are kept how in a prompt cache.
#pragma once

#include <vector>

#include "engine/prompt_cache/cached_block.h"
#include "tensor/cache/layer_cache.h"

namespace hearth::engine {

struct CacheLayout {
  /// A layer of the tail, and how many of the last blocks it starts from.
  struct TailLayer {
    int layer;
    int blocks;
  };

  int block_tokens = 0;
  std::vector<int> base;
  std::vector<TailLayer> tail;
  int tail_blocks = 0;  // the most that a layer of the tail starts from
  bool states = false;  // some tails can only be made where a step ended

  /// @param caches        a new sequence's
  /// @param block_tokens  of blocks where the kinds leave the choice; 0: theirs
  static CacheLayout of(const tensor::SequenceCache& caches, int block_tokens);

  std::vector<int> layers_of(Part part) const;

  /// What the layers of a part keep of the tokens [from, to); null where one has it not.
  PartPtr take_from(const tensor::SequenceCache& caches, Part part, int from, int to) const;

  /// Makes new caches those of a sequence of `offset` tokens whose blocks are `chain`.
  /// @return false where a block is of another kind; the caches are then good for nothing
  bool start(tensor::SequenceCache& caches, std::span<const CachedBlock> chain, int offset) const;

  /// The longest beginning of a chain that a sequence can go on from.
  std::size_t resumable(std::span<const CachedBlock> chain) const;

  /// A part's blocks from their formats and bytes; null where they are another model's.
  PartPtr parse(const tensor::SequenceCache& caches, Part part,
                std::span<const std::string> formats,
                std::span<const std::span<const std::byte>> bytes) const;
};

}  // namespace hearth::engine
