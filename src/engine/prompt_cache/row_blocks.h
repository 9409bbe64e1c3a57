// What the prompt cache knows of one sequence.
#pragma once

#include <chrono>
#include <vector>

#include "engine/prompt_cache/cached_block.h"

namespace hearth::engine {

struct RowBlocks {
  BlockKey root;               // of the namespace, once `keys` has one
  std::vector<BlockKey> keys;  // of its first blocks, as far as they were asked for
  /// The key before block `block`, which must be known.
  const BlockKey& parent(int block) const { return block == 0 ? root : keys[block - 1]; }

  int published = 0;              // of its blocks, those that are or were in the cache
  int saved = 0;                  // of those, blocks that were queued for files as it went on
  std::vector<CachedBlock> read;  // from files, so far
  int to_read = 0;                // blocks, when files are being read
  bool looked = false;            // for files: once is enough
  std::chrono::steady_clock::duration read_time{};
  int taken = 0;  // tokens that were not computed
};

}  // namespace hearth::engine
