#include "engine/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"

namespace hearth::engine {
namespace {

constexpr auto pause = std::chrono::seconds(30);      // after a write that the system refused
constexpr auto unfinished = std::chrono::minutes(1);  // no write takes so long

struct Found {
  fs::path path;
  fs::file_time_type written;
  std::size_t bytes = 0;
};

/// The checkpoints of a folder, the newest first. Files of others are left alone.
std::vector<Found> files_in(const fs::path& folder) {
  std::vector<Found> found;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (!is_checkpoint_name(it->path().filename().string())) continue;
    std::error_code gone;
    const Found file{it->path(), it->last_write_time(gone), std::size_t(it->file_size(gone))};
    if (!gone) found.push_back(file);
  }
  std::ranges::sort(found, std::ranges::greater(), &Found::written);
  return found;
}

}  // namespace

void Checkpoints::Claim::discard() {
  found_.reset();
  owner_.queue(id_, std::nullopt);
}

void Checkpoints::Claim::save(std::uint64_t seed, std::span<const TokenId> tokens) {
  owner_.queue(id_, Checkpoint{.seed = seed, .tokens = {tokens.begin(), tokens.end()}});
}

Checkpoints::Checkpoints(Settings settings) : settings_(std::move(settings)) {
  stats_.every = settings_.every;
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

Checkpoints::~Checkpoints() = default;

fs::path Checkpoints::path_of(const BlockKey& id) const {
  return settings_.folder / checkpoint_name(id);
}

void CheckpointStats::retire(const CheckpointStats& other) {
  written += other.written;
  failed += other.failed;
  resumed += other.resumed;
  replayed_tokens += other.replayed_tokens;
}

CheckpointStats& CheckpointStats::operator+=(const CheckpointStats& other) {
  retire(other);
  every = std::max(every, other.every);
  return *this;
}

void Checkpoints::Claim::resumed() {
  const std::scoped_lock lock(owner_.mutex_);
  ++owner_.stats_.resumed;
  owner_.stats_.replayed_tokens += found_->tokens.size();
}

std::shared_ptr<Checkpoints::Claim> Checkpoints::claim(const BlockKey& id) {
  {
    const std::scoped_lock lock(mutex_);
    if (!claimed_.insert(id).second) return nullptr;
  }
  auto claim = std::make_shared<Claim>(*this, id);
  claim->found_ = find(id);
  return claim;
}

void Checkpoints::release(const BlockKey& id) {
  const std::scoped_lock lock(mutex_);
  claimed_.erase(id);
}

std::optional<Checkpoint> Checkpoints::find(const BlockKey& id) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return writing_ != id; });
    if (const auto waits = pending_.find(id); waits != pending_.end()) return waits->second;
  }
  auto read = read_checkpoint(path_of(id), id);
  if (read) return std::move(*read);
  if (read.error().code != ErrorCode::corrupt_file) return std::nullopt;
  log::warn("{}; the answer is computed from its beginning", read.error().message);
  queue(id, std::nullopt);
  return std::nullopt;
}

void Checkpoints::queue(const BlockKey& id, Change change) {
  const std::scoped_lock lock(mutex_);
  const bool is_new = pending_.insert_or_assign(id, std::move(change)).second;
  if (is_new) order_.push_back(id);
  changed_.notify_all();
}

void Checkpoints::run(std::stop_token stop) {
  prune();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, stop, [this] { return !order_.empty(); });
    if (order_.empty()) return;
    writing_ = order_.front();
    order_.pop_front();
    const Change change = std::move(pending_.at(*writing_));
    pending_.erase(*writing_);
    lock.unlock();
    carry_out(*writing_, change);
    lock.lock();
    writing_.reset();
    changed_.notify_all();
  }
}

void Checkpoints::carry_out(const BlockKey& id, const Change& change) {
  const auto path = path_of(id);
  std::error_code ignored;
  if (!change) {
    fs::remove(path, ignored);
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (std::chrono::steady_clock::now() < paused_until_) return;
  }
  const bool is_new = !fs::exists(path, ignored);
  wrote(write_checkpoint(path, id, *change));
  if (is_new) prune();
}

void Checkpoints::wrote(const Result<void>& written) {
  const std::scoped_lock lock(mutex_);
  if (written) {
    warned_ = false;
    ++stats_.written;
    return;
  }
  ++stats_.failed;
  paused_until_ = std::chrono::steady_clock::now() + pause;
  if (!warned_) {
    log::warn("{}; until it can be written to, answers are not kept as they grow",
              written.error().message);
  }
  warned_ = true;
}

/// Deletes what is too old, too much, or was never finished.
void Checkpoints::prune() const {
  const auto now = fs::file_time_type::clock::now();
  std::size_t files = 0, bytes = 0;
  for (const auto& file : files_in(settings_.folder)) {
    const bool half = file.path.extension() == ".tmp";
    bool stays = now - file.written <= settings_.max_age;
    if (half) {
      stays = now - file.written <= unfinished;
    } else if (stays) {
      ++files;
      bytes += file.bytes;
      stays = files <= settings_.max_files && bytes <= settings_.max_bytes;
    }
    std::error_code ignored;
    if (!stays) fs::remove(file.path, ignored);
  }
}

void Checkpoints::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return order_.empty() && !writing_; });
}

CheckpointStats Checkpoints::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

}  // namespace hearth::engine
