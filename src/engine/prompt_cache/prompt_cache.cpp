#include "engine/prompt_cache/prompt_cache.h"

#include <algorithm>

#include "base/log.h"

namespace hearth::engine {

using Clock = BlockIndex::Clock;

PromptCache::PromptCache(const EngineOptions& options, const std::string& space,
                         std::function<tensor::SequenceCache()> new_caches)
    : tier_(options.tier), new_caches_(std::move(new_caches)), model_caches_(new_caches_()),
      layout_(CacheLayout::of(model_caches_, tier_ == Tier::l1 ? options.prefill_chunk : 0)),
      demote_idle_(options.prompt_cache.demote_idle), index_(options.prompt_cache.max_bytes) {
  const auto& wanted = options.prompt_cache;
  if (wanted.disk.empty()) return;
  auto disk = std::make_unique<DiskTier>(DiskTier::Settings{.folder = wanted.disk,
                                                            .space = space,
                                                            .max_bytes = wanted.disk_max_bytes,
                                                            .verify = wanted.disk_verify,
                                                            .every_second = [this] { demote(); }});
  const std::scoped_lock lock(mutex_);  // the tier's thread may be in demote() already
  disk_ = std::move(disk);
}

/// The position behind a row's block; none where it has no such block. At tier l1 the blocks are
/// the chunks of its prompt, whose last token runs alone and is in none.
std::optional<int> PromptCache::end_of_block(const Sequence& row, int block) const {
  const int end = (block + 1) * layout_.block_tokens;
  if (tier_ == Tier::fast) return end;
  const int drained = row.prompt_tokens() - 1;
  if (start_of_block(row, block) >= drained) return std::nullopt;
  return std::min(end, drained);
}

int PromptCache::start_of_block(const Sequence&, int block) const {
  return block * layout_.block_tokens;
}

std::span<const TokenId> PromptCache::tokens_of_block(const Sequence& row, int block) const {
  const int start = start_of_block(row, block);
  return std::span(row.tokens).subspan(start, *end_of_block(row, block) - start);
}

/// Blocks that end at or before a position.
int PromptCache::blocks_before(const Sequence& row, int tokens) const {
  int count = tokens / layout_.block_tokens;
  const auto end = end_of_block(row, count);
  if (tier_ == Tier::l1 && end && *end <= tokens) ++count;
  return count;
}

int PromptCache::takeable(const Sequence& row) const {
  return (tier_ == Tier::l1 ? row.prompt_tokens() : row.known_tokens()) - 1;
}

void PromptCache::name_blocks(Sequence& row, int count) const {
  auto& blocks = row.blocks;
  if (blocks.keys.empty()) blocks.root = root_key(row.request.cache_scope);
  for (int i = int(blocks.keys.size()); i < count; ++i) {
    blocks.keys.push_back(child_key(blocks.parent(i), tokens_of_block(row, i)));
  }
}

std::vector<CachedBlock> PromptCache::find_chain(const Sequence& row, int count) const {
  std::vector<CachedBlock> chain;
  for (int i = 0; i < count; ++i) {
    const auto* block =
        index_.find(row.blocks.keys[i], row.blocks.parent(i), tokens_of_block(row, i));
    if (!block) break;
    chain.push_back(*block);
  }
  chain.resize(layout_.resumable(chain));
  return chain;
}

bool PromptCache::take(Sequence& row) {
  if (row.decoding() || row.request.score_prompt) return true;
  if (row.blocks.to_read > 0) return restore(row);
  const int count = blocks_before(row, takeable(row));
  const int next = blocks_before(row, std::min(row.forwarded, takeable(row)));
  if (next >= count) return true;
  name_blocks(row, count);
  std::vector<CachedBlock> chain;
  {
    const std::scoped_lock lock(mutex_);
    if (index_.find(row.blocks.keys[next])) chain = find_chain(row, count);
    if (int(chain.size()) > next) {
      index_.touch(std::span(row.blocks.keys).first(chain.size()), row.request.session,
                   Clock::now());
    }
  }
  if (int(chain.size()) > next) start_from(row, chain);
  if (!disk_ || row.blocks.looked) return true;
  row.blocks.looked = true;
  const int length = length_with_files(row, count);
  const int known = std::max(next, int(chain.size()));
  if (length <= known || !pays(row, known, length)) return true;
  row.blocks.to_read = length;
  return restore(row);
}

void PromptCache::start_from(Sequence& row, std::span<const CachedBlock> chain) {
  auto caches = new_caches_();
  const int offset = *end_of_block(row, int(chain.size()) - 1);
  if (!layout_.start(caches, chain, offset)) {
    log::error("the prompt cache holds a block of another kind; the prompt is computed");
    return;
  }
  row.cache = std::move(caches);
  row.blocks.taken += offset - row.forwarded;
  row.forwarded = offset;
  row.blocks.published = std::max(row.blocks.published, int(chain.size()));
}

int PromptCache::step_limit(const Sequence& row, int tokens) const {
  if (!layout_.states || tier_ == Tier::l1 || row.decoding()) return tokens;
  const int last = takeable(row) / layout_.block_tokens * layout_.block_tokens;
  const bool passes = row.forwarded < last && row.forwarded + tokens > last;
  return passes ? last - row.forwarded : tokens;
}

void PromptCache::publish(Sequence& row) {
  const bool l1 = tier_ == Tier::l1;
  if (l1 && (row.request.score_prompt || row.decoding())) return;
  const int count =
      blocks_before(row, l1 ? std::min(row.forwarded, row.prompt_tokens()) : row.forwarded);
  const bool ends_prompt = !row.decoding() && row.samples_after(0);
  if (count <= row.blocks.published && !ends_prompt) return;
  name_blocks(row, count);
  for (int i = row.blocks.published; i < count; ++i) {
    // Where a prompt or an answer ends, the tails stay: they must not leave before that is said.
    // At tier l1 the prompt's last block is there a step before its last token has run.
    const bool last = ends_prompt || row.forwarded >= row.prompt_tokens() - 1;
    publish_block(row, i, row.decoding() || (last && i >= count - layout_.tail_blocks));
  }
  row.blocks.published = std::max(row.blocks.published, count);
  const std::scoped_lock lock(mutex_);
  index_.touch(std::span(row.blocks.keys).first(count), row.request.session, Clock::now());
  if (!ends_prompt) return;
  keep_tails(row);
  ++(row.blocks.taken > 0 ? stats_.hits : stats_.misses);
  stats_.hit_tokens += std::uint64_t(row.blocks.taken);
}

void PromptCache::publish_block(Sequence& row, int i, bool keeps_tail) {
  const int from = start_of_block(row, i), to = *end_of_block(row, i);
  CachedBlock block{.key = row.blocks.keys[i],
                    .parent = row.blocks.parent(i),
                    .tokens = std::vector(row.tokens.begin() + from, row.tokens.begin() + to),
                    .end = to};
  bool wants_tail = !layout_.tail.empty() && (!layout_.states || to == row.forwarded);
  {
    const std::scoped_lock lock(mutex_);
    const auto* known = index_.find(block.key);
    if (known) block.base = known->base;
    if (known && known->tail) wants_tail = false;
    if (known && !wants_tail) return;
  }
  if (!block.base) block.base = layout_.take_from(row.cache, Part::base, from, to);
  if (!block.base) return;
  if (wants_tail) block.tail = layout_.take_from(row.cache, Part::tail, from, to);
  const std::scoped_lock lock(mutex_);
  evicted(index_.put(std::move(block), keeps_tail, Clock::now()));
}

/// Prompts will go on from the last of the row's blocks.
void PromptCache::keep_tails(const Sequence& row) {
  const int count = std::min(row.blocks.published, int(row.blocks.keys.size()));
  for (int i = std::max(0, count - layout_.tail_blocks); i < count; ++i) {
    index_.keep_tail(row.blocks.keys[i]);
  }
}

void PromptCache::finish(Sequence& row) {
  publish(row);
  const std::scoped_lock lock(mutex_);
  keep_tails(row);
  save(std::span(row.blocks.keys)
           .first(std::min<std::size_t>(row.blocks.published, row.blocks.keys.size())));
}

void PromptCache::close_session(const std::string& session) {
  const std::scoped_lock lock(mutex_);
  index_.close_session(session);
}

void PromptCache::resize(std::size_t max_bytes) {
  const std::scoped_lock lock(mutex_);
  evicted(index_.resize(max_bytes));
}

PromptCacheStats PromptCache::stats() const {
  const std::scoped_lock lock(mutex_);
  auto stats = stats_;
  stats.entries = index_.entries();
  stats.bytes = index_.bytes();
  stats.max_bytes = index_.max_bytes();
  return stats;
}

}  // namespace hearth::engine
