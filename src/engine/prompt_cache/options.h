// How much a prompt cache may keep, and what it tells of itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::engine {

struct PromptCacheOptions {
  std::size_t max_bytes = 0;  // in memory; 0: no prompt cache
};

struct PromptCacheStats {
  std::size_t entries = 0;  // blocks
  std::size_t bytes = 0, max_bytes = 0;
  std::uint64_t hits = 0, misses = 0;  // prompts that took something, and that took nothing
  std::uint64_t hit_tokens = 0;        // tokens that were taken
  std::uint64_t evicted = 0;           // blocks that left for others
};

}  // namespace hearth::engine
