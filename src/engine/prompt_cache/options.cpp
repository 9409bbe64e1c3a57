#include "engine/prompt_cache/options.h"

#include <algorithm>

namespace hearth::engine {

void PromptCacheStats::retire(const PromptCacheStats& other) {
  hits += other.hits;
  misses += other.misses;
  hit_tokens += other.hit_tokens;
  evicted += other.evicted;
}

PromptCacheStats& PromptCacheStats::operator+=(const PromptCacheStats& other) {
  retire(other);
  entries += other.entries;
  bytes += other.bytes;
  max_bytes += other.max_bytes;
  return *this;
}

void DiskCacheStats::retire(const DiskCacheStats& other) {
  restores += other.restores;
  spills += other.spills;
  demotions += other.demotions;
  dropped_spills += other.dropped_spills;
  failed_spills += other.failed_spills;
  bad_files += other.bad_files;
}

DiskCacheStats& DiskCacheStats::operator+=(const DiskCacheStats& other) {
  retire(other);
  if (!other.folder.empty()) folder = other.folder;
  entries += other.entries;
  bytes += other.bytes;
  max_bytes = std::max(max_bytes, other.max_bytes);  // they share a folder
  if (other.restore_ms_last > 0) restore_ms_last = other.restore_ms_last;
  pending_spills += other.pending_spills;
  pending_spill_bytes += other.pending_spill_bytes;
  longest_prefix = std::max(longest_prefix, other.longest_prefix);
  return *this;
}

}  // namespace hearth::engine
