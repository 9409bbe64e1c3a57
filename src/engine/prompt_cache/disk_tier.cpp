#include "engine/prompt_cache/disk_tier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"

namespace hearth::engine {
namespace {

constexpr auto tick = std::chrono::seconds(1);
constexpr auto between_looks = std::chrono::seconds(30);  // at what other models keep
constexpr auto pause = std::chrono::seconds(30);          // after a write that the system refused

}  // namespace

DiskTier::DiskTier(Settings settings)
    : settings_(std::move(settings)), folder_(settings_.folder / settings_.space),
      others_(settings_.folder, settings_.space) {
  stats_.folder = settings_.folder;
  stats_.max_bytes = settings_.max_bytes;
  open();
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

DiskTier::~DiskTier() = default;

void DiskTier::open() {
  std::error_code error;
  fs::create_directories(folder_, error);
  auto index = DiskIndex::open(folder_);
  auto rows = index ? reconcile(*index, folder_)
                    : Result<std::vector<DiskRow>>(tl::unexpected(index.error()));
  if (!rows) {
    log::warn("{}: prompts are kept in memory only: {}", folder_.string(),
              error ? error.message() : rows.error().message);
    rows = rows_of_files(folder_);
  } else {
    index_.emplace(std::move(*index));
  }
  for (const auto& row : *rows) keep(row);
}

void DiskTier::keep(const DiskRow& row) {
  forget(row.id);
  kept_[row.id] = row;
  by_use_.emplace(row.used, row.id);
  stats_.bytes += row.bytes;
}

void DiskTier::forget(const PartId& id) {
  const auto found = kept_.find(id);
  if (found == kept_.end()) return;
  stats_.bytes -= found->second.bytes;
  by_use_.erase({found->second.used, id});
  kept_.erase(found);
}

bool DiskTier::paused() const { return std::chrono::steady_clock::now() < paused_until_; }

bool DiskTier::has(const PartId& id) const {
  const std::scoped_lock lock(mutex_);
  return kept_.contains(id) || queued_.contains(id);
}

std::size_t DiskTier::file_bytes(const PartId& id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = kept_.find(id);
  return found == kept_.end() ? 0 : found->second.bytes;
}

std::optional<BlockFile> DiskTier::read(const PartId& id) {
  auto file = read_block(folder_ / file_name(id), settings_.space, id);
  if (file) return std::move(*file);
  const bool bad = file.error().code == ErrorCode::corrupt_file;
  if (bad) log::warn("{}; the block is computed again", file.error().message);
  std::error_code ignored;
  if (bad) fs::remove(folder_ / file_name(id), ignored);
  const std::scoped_lock lock(mutex_);
  stats_.bad_files += bad;
  if (kept_.contains(id)) gone_.push_back(id);
  forget(id);
  return std::nullopt;
}

bool DiskTier::write(const CachedBlock& block, Part part, std::int64_t used) {
  const PartId id{.key = block.key, .part = part};
  const std::scoped_lock lock(mutex_);
  if (kept_.contains(id) || queued_.contains(id)) return true;
  if (!index_ || paused()) {
    ++stats_.failed_spills;
    return false;
  }
  const std::size_t bytes = block.part(part)->bytes;
  if (queued_bytes_ + bytes > settings_.queue_bytes && !queue_.empty()) {
    ++stats_.dropped_spills;
    return false;
  }
  queue_.push_back({block, id, used});
  queued_.insert(id);
  queued_bytes_ += bytes;
  changed_.notify_all();
  return true;
}

std::int64_t DiskTier::now() {
  using std::chrono::microseconds;
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  const std::scoped_lock lock(mutex_);
  last_ =
      std::max(last_ + 1, std::int64_t(std::chrono::duration_cast<microseconds>(clock).count()));
  return last_;
}

void DiskTier::touch(std::span<const PartId> ids) {
  const std::int64_t latest = now();
  const std::scoped_lock lock(mutex_);
  std::int64_t used = latest;
  for (const auto& id : ids) {
    const auto found = kept_.find(id);
    if (found == kept_.end()) continue;
    by_use_.erase({found->second.used, id});
    found->second.used = used--;
    by_use_.emplace(found->second.used, id);
    marked_.insert(id);
  }
}

void DiskTier::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return !index_ || paused() || queued_bytes_ < settings_.queue_bytes / 2 || queue_.empty();
  });
}

bool DiskTier::drain(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return (queue_.empty() && !writing_) || paused(); });
  return queue_.empty() && !writing_;
}

void DiskTier::run(std::stop_token stop) {
  if (settings_.verify) verify_all(stop);
  auto next_tick = std::chrono::steady_clock::now() + tick;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_until(lock, stop, next_tick, [this] { return !queue_.empty(); });
    if (!queue_.empty()) write_next(lock);
    if (stop.stop_requested() && queue_.empty()) break;
    if (std::chrono::steady_clock::now() < next_tick) continue;
    next_tick = std::chrono::steady_clock::now() + tick;
    save_marks(lock);
    lock.unlock();
    if (settings_.every_second && !stop.stop_requested()) settings_.every_second();
    lock.lock();
  }
  save_marks(lock);
}

void DiskTier::write_next(std::unique_lock<std::mutex>& lock) {
  const Waiting item = std::move(queue_.front());
  queue_.pop_front();
  const std::size_t size = item.block.part(item.id.part)->bytes;
  if (paused()) {
    ++stats_.failed_spills;
  } else if (settings_.max_bytes > 0 && size > settings_.max_bytes) {
    ++stats_.dropped_spills;
  } else {
    writing_ = true;
    make_room(lock, size);
    lock.unlock();
    const auto written =
        write_block(folder_ / file_name(item.id), settings_.space, item.block, item.id.part);
    lock.lock();
    writing_ = false;
    wrote(item, written);
  }
  queued_.erase(item.id);
  queued_bytes_ -= size;
  changed_.notify_all();
}

void DiskTier::wrote(const Waiting& item, const Result<std::size_t>& bytes) {
  if (!bytes) {
    ++stats_.failed_spills;
    paused_until_ = std::chrono::steady_clock::now() + pause;
    if (!warned_) {
      log::warn("{}; until it can be written to, prompts are kept in memory only",
                bytes.error().message);
    }
    warned_ = true;
    return;
  }
  warned_ = false;
  ++stats_.spills;
  const DiskRow row{.id = item.id, .bytes = *bytes, .used = item.used, .end = item.block.end};
  keep(row);
  if (auto put = index_->put({&row, 1}); !put) marked_.insert(item.id);
}

void DiskTier::look_at_others() {
  const auto now = std::chrono::steady_clock::now();
  const bool much = written_since_ > settings_.max_bytes / 64;  // others may have written as much
  if (!much && now - looked_at_ < between_looks) return;
  looked_at_ = now;
  written_since_ = 0;
  others_.look();
}

/// Deletes what was used longest ago, whoever's it is, until `bytes` more fit.
void DiskTier::make_room(std::unique_lock<std::mutex>& lock, std::size_t bytes) {
  if (settings_.max_bytes == 0) return;
  lock.unlock();
  written_since_ += bytes;
  look_at_others();
  lock.lock();
  std::vector<PartId> victims;
  while (stats_.bytes + others_.bytes() + bytes > settings_.max_bytes) {
    const auto oldest = others_.oldest();
    if (oldest && (by_use_.empty() || *oldest < by_use_.begin()->first)) {
      others_.drop_oldest();
    } else if (!by_use_.empty()) {
      victims.push_back(by_use_.begin()->second);
      forget(victims.back());
    } else {
      break;
    }
  }
  gone_.insert(gone_.end(), victims.begin(), victims.end());
  lock.unlock();
  std::error_code ignored;
  for (const auto& id : victims) fs::remove(folder_ / file_name(id), ignored);
  lock.lock();
}

/// Tells the index what changed since. What is lost when the process dies before, the files tell.
void DiskTier::save_marks(std::unique_lock<std::mutex>& lock) {
  if (!index_ || (marked_.empty() && gone_.empty())) return;
  std::vector<DiskRow> rows;
  for (const auto& id : marked_) {
    if (const auto found = kept_.find(id); found != kept_.end()) rows.push_back(found->second);
  }
  std::erase_if(gone_, [this](const PartId& id) { return kept_.contains(id); });
  const auto gone = std::exchange(gone_, {});
  marked_.clear();
  lock.unlock();
  // For other models' processes, which look at the times of files.
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& row : rows) fs::last_write_time(folder_ / file_name(row.id), now, ignored);
  auto saved = index_->put(rows);
  if (saved) saved = index_->remove(gone);
  if (!saved) log::debug("{}", saved.error().message);
  lock.lock();
}

void DiskTier::verify_all(std::stop_token stop) {
  std::vector<PartId> all;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, row] : kept_) all.push_back(id);
  }
  for (const auto& id : all) {
    if (stop.stop_requested()) return;
    if (has(id)) (void)read(id);
  }
}

void DiskTier::count_restore(std::chrono::duration<double> took) {
  const std::scoped_lock lock(mutex_);
  ++stats_.restores;
  stats_.restore_ms_last = took.count() * 1000;
}

void DiskTier::count_demotion(std::size_t blocks) {
  const std::scoped_lock lock(mutex_);
  stats_.demotions += blocks;
}

DiskCacheStats DiskTier::stats() const {
  const std::scoped_lock lock(mutex_);
  auto stats = stats_;
  stats.entries = kept_.size();
  stats.pending_spills = queued_.size();
  stats.pending_spill_bytes = queued_bytes_;
  for (const auto& [id, row] : kept_) {
    stats.longest_prefix = std::max(stats.longest_prefix, row.end);
  }
  return stats;
}

}  // namespace hearth::engine
