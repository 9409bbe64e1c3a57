// Keys and values of prompts and answers that later prompts begin with.
//
// A sequence's tokens are cut into blocks whose keys are chained, so that what two prompts have in
// common is found whatever follows, and forks of a conversation share what came before. A row that
// takes blocks gives the same tokens as one that computes them, to the bit:
// - Our kernels give a token the same keys and values however its prompt was cut into steps and
//   whatever ran beside it. A block is a page of 64 tokens, prompt or answer.
// - At tier l1 they depend on the chunk that a token ran in, as in mlx-lm. There the blocks are the
//   chunks that the prompt runs in alone, and answers are not kept.
#pragma once

#include <functional>
#include <mutex>

#include "engine/engine.h"
#include "engine/prompt_cache/block_index.h"
#include "engine/prompt_cache/cache_layout.h"
#include "engine/prompt_cache/disk_tier.h"
#include "engine/sequence.h"

namespace hearth::engine {

class PromptCache {
 public:
  /// @param new_caches  makes a new sequence's caches
  /// @param space       fingerprint() of the model: the namespace of files
  PromptCache(const EngineOptions& options, const std::string& space,
              std::function<tensor::SequenceCache()> new_caches);
  ~PromptCache();  // writes to files what is not there yet

  // --- engine thread

  /// Before a step: gives a row whose prompt is under way what the cache has beyond what it has
  /// itself. At least one token is left to compute.
  /// @return false where blocks are being read from files: the row waits for the next step
  bool take(Sequence& row);

  /// What a step took to run tokens of prompts; files are read only where that is slower.
  void note_prefill(int tokens, std::chrono::duration<double> took);

  /// Most tokens that a step may bring for a row, of `tokens`, so that its state can be kept.
  int step_limit(const Sequence& row, int tokens) const;

  /// After a step that was evaluated: keeps the row's new blocks.
  void publish(Sequence& row);

  /// Queues for files what is there of a row that goes on. Without a disk tier nothing.
  void save_so_far(Sequence& row);

  /// The row ends here, finished or cancelled, with all that it forwarded sound.
  void finish(Sequence& row);

  // --- any thread

  void close_session(const std::string& session);
  /// May hold so many bytes from now on; what is too much leaves.
  void resize(std::size_t max_bytes);
  /// Writes everything that memory holds to files, within `limit`. Without a disk tier nothing.
  FlushReport flush(std::chrono::milliseconds limit);
  PromptCacheStats stats() const;
  DiskCacheStats disk_stats() const;

 private:
  std::optional<int> end_of_block(const Sequence& row, int block) const;
  int start_of_block(const Sequence& row, int block) const;
  std::span<const TokenId> tokens_of_block(const Sequence& row, int block) const;
  /// Tokens of a row, from its first, that blocks may be taken of: one is left to compute.
  int takeable(const Sequence& row) const;
  /// Makes the row's first `count` keys known.
  void name_blocks(Sequence& row, int count) const;
  int blocks_before(const Sequence& row, int tokens) const;
  std::vector<CachedBlock> find_chain(const Sequence& row, int count) const;
  void start_from(Sequence& row, std::span<const CachedBlock> chain);
  void publish_block(Sequence& row, int block, bool keeps_tail);
  void keep_tails(const Sequence& row);
  void evicted(std::vector<CachedBlock> blocks);
  void save(std::span<const BlockKey> keys);
  void save_part(const CachedBlock& block, Part part, std::int64_t used);
  bool wants_file(const CachedBlock& block, Part part) const;
  void demote();

  // Of files:
  int length_with_files(const Sequence& row, int count) const;
  bool pays(const Sequence& row, int from, int to) const;
  bool restore(Sequence& row);
  std::optional<CachedBlock> restored_block(const Sequence& row, int block);
  PartPtr read_part(const CachedBlock& block, Part part);

  const Tier tier_;
  const std::function<tensor::SequenceCache()> new_caches_;
  const tensor::SequenceCache model_caches_;  // empty ones, that know the form of their blocks
  const CacheLayout layout_;
  const std::chrono::seconds demote_idle_;
  double prefill_rate_ = 0;  // tokens a second; 0: not known. Of the engine thread, as is the next
  double restore_rate_ = 1e9;  // bytes a second

  mutable std::mutex mutex_;  // guards what follows
  BlockIndex index_;
  PromptCacheStats stats_;

  std::unique_ptr<DiskTier> disk_;  // null: none. Last: its thread calls demote()
};

}  // namespace hearth::engine
