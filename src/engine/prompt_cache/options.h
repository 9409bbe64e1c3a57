// How much a prompt cache may keep, and what it tells of itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace hearth::engine {

struct PromptCacheOptions {
  std::size_t max_bytes = 0;                           // in memory; 0: no prompt cache
  std::filesystem::path disk;                          // folder of the disk tier; empty: none
  std::size_t disk_max_bytes = std::size_t{32} << 30;  // of all models' files there; 0: no limit
  bool disk_verify = false;                            // check every file at the start
  std::chrono::seconds demote_idle{
      300};  // unused for so long and on disk, blocks leave memory; 0: never
};

struct PromptCacheStats {
  std::size_t entries = 0;  // blocks
  std::size_t bytes = 0, max_bytes = 0;
  std::uint64_t hits = 0, misses = 0;  // prompts that took something, and that took nothing
  std::uint64_t hit_tokens = 0;        // tokens that were taken
  std::uint64_t evicted = 0;           // blocks that left for others

  /// Adds the counts of a cache that is no more.
  void retire(const PromptCacheStats& other);
  /// Adds another cache's.
  PromptCacheStats& operator+=(const PromptCacheStats& other);
};

struct DiskCacheStats {
  std::filesystem::path folder;        // empty: there is no disk tier
  std::size_t entries = 0, bytes = 0;  // files
  std::size_t max_bytes = 0;           // 0: no limit
  std::uint64_t restores = 0;          // prompts that took something from files
  std::uint64_t spills = 0;            // parts of blocks written
  double restore_ms_last = 0;
  std::uint64_t demotions = 0;     // blocks that left memory since they were idle
  std::size_t pending_spills = 0;  // parts that wait to be written
  std::size_t pending_spill_bytes = 0;
  std::uint64_t dropped_spills = 0;  // not written since too much waited
  std::uint64_t failed_spills = 0;   // not written since the system refused
  std::uint64_t bad_files = 0;       // found broken and thrown away
  int longest_prefix = 0;            // tokens of the longest prompt that is on the disk

  /// As those of PromptCacheStats.
  void retire(const DiskCacheStats& other);
  DiskCacheStats& operator+=(const DiskCacheStats& other);
};

/// What a flush came to.
struct FlushReport {
  bool durable = true;      // everything that memory holds is on the disk
  std::size_t flushed = 0;  // parts written by it
  std::size_t missing = 0;  // parts that are not
  double milliseconds = 0;
};

}  // namespace hearth::engine
