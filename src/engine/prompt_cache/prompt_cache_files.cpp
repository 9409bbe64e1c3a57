// The prompt cache's side of the disk tier: what goes to files, and when they are read.
#include <algorithm>

#include "base/log.h"
#include "engine/prompt_cache/prompt_cache.h"

namespace hearth::engine {

using Clock = BlockIndex::Clock;

namespace {

constexpr auto restore_slice = std::chrono::milliseconds(20);  // of reading between two steps
constexpr auto end_limit = std::chrono::seconds(30);
constexpr double worth = 0.5;   // reading must take less than this part of computing
constexpr double newest = 0.3;  // weight of the last measurement in a rate

double blended(double rate, double measured) {
  return rate <= 0 ? measured : (1 - newest) * rate + newest * measured;
}

}  // namespace

void PromptCache::note_prefill(int tokens, std::chrono::duration<double> took) {
  constexpr int telling = 32;  // fewer say nothing of long prompts
  if (tokens < telling || took.count() <= 0) return;
  prefill_rate_ = blended(prefill_rate_, tokens / took.count());
}

// --- to files; under mutex_

/// Tails that only the last blocks of a chain need are not written for the others.
bool PromptCache::wants_file(const CachedBlock& block, Part part) const {
  if (!block.part(part) || disk_->has({block.key, part})) return false;
  return part == Part::base || index_.keeps_tail(block.key);
}

void PromptCache::save_part(const CachedBlock& block, Part part, std::int64_t used) {
  if (wants_file(block, part)) disk_->write(block, part, used);
}

/// Queues what is not on the disk, and tells it what was used: beginnings stay longest.
void PromptCache::save(std::span<const BlockKey> keys) {
  if (!disk_) return;
  std::int64_t used = disk_->now();
  std::vector<PartId> ids;
  for (const auto& key : keys) {
    const auto* block = index_.find(key);
    for (const Part part : parts) {
      if (block) save_part(*block, part, used--);
      ids.push_back({key, part});
    }
  }
  disk_->touch(ids);
}

void PromptCache::save_so_far(Sequence& row) {
  auto& blocks = row.blocks;
  const auto count = std::min(blocks.published, int(blocks.keys.size()));
  if (!disk_ || count <= blocks.saved) return;
  const std::scoped_lock lock(mutex_);
  save(std::span(blocks.keys).subspan(blocks.saved, count - blocks.saved));
  blocks.saved = count;
}

/// What leaves memory is written if it is not yet. A loose tail leaves alone and is let go.
void PromptCache::evicted(std::vector<CachedBlock> blocks) {
  stats_.evicted += blocks.size();
  if (!disk_) return;
  for (const auto& block : blocks) {
    for (const Part part : parts) {
      const bool whole = block.base && block.part(part);  // loose tails left before any block
      if (whole && !disk_->has({block.key, part})) disk_->write(block, part, disk_->now());
    }
  }
}

/// On the disk tier's thread: blocks that nobody used for long leave memory once files hold them.
void PromptCache::demote() {
  if (demote_idle_.count() == 0) return;
  const std::scoped_lock lock(mutex_);
  if (!disk_) return;  // it runs before the constructor has it
  const auto dropped =
      index_.drop_unused(Clock::now() - demote_idle_, [&](const CachedBlock& block) {
        bool held = true;
        for (const Part part : parts) {
          save_part(block, part, disk_->now());
          const bool needed =
              block.part(part) && (part == Part::base || index_.keeps_tail(block.key));
          held = held && (!needed || disk_->file_bytes({block.key, part}) > 0);
        }
        return held;
      });
  disk_->count_demotion(dropped);
}

PromptCache::~PromptCache() {
  const auto report = flush(end_limit);
  if (!report.durable) {
    log::warn("{} blocks of the prompt cache could not be written", report.missing);
  }
}

FlushReport PromptCache::flush(std::chrono::milliseconds limit) {
  FlushReport report;
  if (!disk_) return report;
  const auto start = Clock::now();
  const auto before = disk_->stats().spills;
  std::vector<CachedBlock> blocks;
  {
    const std::scoped_lock lock(mutex_);
    index_.for_each([&](const CachedBlock& block) { blocks.push_back(block); });
  }
  for (const auto& block : blocks) {
    if (Clock::now() - start > limit) break;
    disk_->wait_for_room();
    const std::scoped_lock lock(mutex_);
    for (const Part part : parts) save_part(block, part, disk_->now());
  }
  const auto left = limit - (Clock::now() - start);
  disk_->drain(std::max(std::chrono::milliseconds(0),
                        std::chrono::duration_cast<std::chrono::milliseconds>(left)));
  const std::scoped_lock lock(mutex_);
  for (const auto& block : blocks) {
    for (const Part part : parts) {
      const bool needed = block.part(part) && (part == Part::base || index_.keeps_tail(block.key));
      report.missing += needed && disk_->file_bytes({block.key, part}) == 0;
    }
  }
  report.durable = report.missing == 0;
  report.flushed = disk_->stats().spills - before;
  report.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return report;
}

DiskCacheStats PromptCache::disk_stats() const { return disk_ ? disk_->stats() : DiskCacheStats{}; }

// --- from files; on the engine thread

/// Blocks from which the row could go on if every file were read.
int PromptCache::length_with_files(const Sequence& row, int count) const {
  const std::scoped_lock lock(mutex_);
  int length = 0, tails = 0;
  for (int i = 0; i < count; ++i) {
    const auto& key = row.blocks.keys[i];
    const auto* block = index_.find(key, row.blocks.parent(i), tokens_of_block(row, i));
    if (!block && disk_->file_bytes({key, Part::base}) == 0) break;
    const bool tail = (block && block->tail) || disk_->file_bytes({key, Part::tail}) > 0;
    tails = tail ? tails + 1 : 0;
    if (layout_.tail.empty() || tails >= std::min(i + 1, layout_.tail_blocks)) length = i + 1;
  }
  return length;
}

/// Whether reading blocks [from, to) beats computing them by far.
bool PromptCache::pays(const Sequence& row, int from, int to) const {
  if (prefill_rate_ <= 0) return true;
  std::size_t bytes = 0;
  for (int i = 0; i < to; ++i) {
    for (const Part part : parts) bytes += disk_->file_bytes({row.blocks.keys[i], part});
  }
  const int tokens = *end_of_block(row, to - 1) - start_of_block(row, from);
  return double(bytes) / restore_rate_ < worth * tokens / prefill_rate_;
}

/// Reads for a while. @return whether the row may go on
bool PromptCache::restore(Sequence& row) {
  auto& blocks = row.blocks;
  const auto start = Clock::now();
  while (int(blocks.read.size()) < blocks.to_read) {
    auto block = restored_block(row, int(blocks.read.size()));
    if (!block) {
      blocks.to_read = int(blocks.read.size());
      break;
    }
    blocks.read.push_back(std::move(*block));
    if (Clock::now() - start > restore_slice) break;
  }
  blocks.read_time += Clock::now() - start;
  if (int(blocks.read.size()) < blocks.to_read) return false;
  auto chain = std::exchange(blocks.read, {});
  blocks.to_read = 0;
  chain.resize(layout_.resumable(chain));
  if (int(chain.size()) <= blocks_before(row, row.forwarded)) return true;
  start_from(row, chain);
  disk_->count_restore(blocks.read_time);
  return true;
}

/// A block of the row with what memory and files hold of it; none where its base is not there.
std::optional<CachedBlock> PromptCache::restored_block(const Sequence& row, int i) {
  CachedBlock block{
      .key = row.blocks.keys[i],
      .parent = row.blocks.parent(i),
      .tokens = std::vector(tokens_of_block(row, i).begin(), tokens_of_block(row, i).end()),
      .end = *end_of_block(row, i)};
  {
    const std::scoped_lock lock(mutex_);
    if (const auto* known = index_.find(block.key, block.parent, block.tokens)) block = *known;
  }
  const bool wants_tail = !layout_.tail.empty() && i >= row.blocks.to_read - layout_.tail_blocks;
  bool read = false;
  for (const Part part : parts) {
    auto& blocks = part == Part::base ? block.base : block.tail;
    if (blocks || (part == Part::tail && !wants_tail)) continue;
    blocks = read_part(block, part);
    if (!blocks && part == Part::base) return std::nullopt;
    read = true;
  }
  if (!read) return block;
  const std::scoped_lock lock(mutex_);
  evicted(index_.put(block, block.tail != nullptr, Clock::now()));
  index_.touch(std::span(row.blocks.keys).first(std::size_t(i) + 1), row.request.session,
               Clock::now());
  return block;
}

PartPtr PromptCache::read_part(const CachedBlock& block, Part part) {
  const PartId id{.key = block.key, .part = part};
  if (disk_->file_bytes(id) == 0) return nullptr;
  const auto start = Clock::now();
  const auto file = disk_->read(id);
  if (!file || file->parent != block.parent || file->tokens != block.tokens) return nullptr;
  auto blocks = layout_.parse(model_caches_, part, file->formats, file->layers);
  const std::chrono::duration<double> took = Clock::now() - start;
  if (took.count() > 0) {
    restore_rate_ = blended(restore_rate_, double(file->memory.size()) / took.count());
  }
  return blocks;
}

}  // namespace hearth::engine
