// The blocks that survive: files of one namespace in a folder, written and thrown away by a thread
// of its own, read by whoever asks. What is bad or cannot be written is told once and done without.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "engine/prompt_cache/disk_index.h"
#include "engine/prompt_cache/options.h"
#include "engine/prompt_cache/other_spaces.h"

namespace hearth::engine {

class DiskTier {
 public:
  struct Settings {
    std::filesystem::path folder;  // of all namespaces
    std::string space;             // the namespace: what else decides keys and values
    std::size_t max_bytes = 0;     // of all files in it; 0: no limit
    std::size_t queue_bytes = std::size_t{256} << 20;  // of blocks that wait to be written
    bool verify = false;                               // check every file at the start
    std::function<void()> every_second;                // runs on the tier's thread
  };

  /// Never fails: a folder that cannot be written to is a warning. Its files are read all the same.
  explicit DiskTier(Settings settings);
  ~DiskTier();  // writes what waits

  // Any thread:

  /// Whether a part is on the disk or waits to be written.
  bool has(const PartId& id) const;
  /// Bytes of the part's file; 0: it is not on the disk.
  std::size_t file_bytes(const PartId& id) const;
  /// Reads and checks a part. One that is bad is deleted and told in the log.
  std::optional<BlockFile> read(const PartId& id);

  /// Queues a part; what is used last stays longest.
  /// @return false, with the part dropped, where too much waits or nothing can be written now
  bool write(const CachedBlock& block, Part part, std::int64_t used);
  /// Marks parts as used, the first most recently.
  void touch(std::span<const PartId> ids);
  /// A number for write(): grows from call to call.
  std::int64_t now();

  /// Waits until there is room in the queue, or none will come.
  void wait_for_room();
  /// Waits until everything queued is on the disk, or `limit` has passed.
  /// @return whether all of it is
  bool drain(std::chrono::milliseconds limit);

  void count_restore(std::chrono::duration<double> took);
  void count_demotion(std::size_t blocks);
  DiskCacheStats stats() const;

 private:
  struct Waiting {
    CachedBlock block;  // of which only `id`'s part counts
    PartId id;
    std::int64_t used;
  };

  void open();
  void run(std::stop_token stop);
  void write_next(std::unique_lock<std::mutex>& lock);
  void wrote(const Waiting& item, const Result<std::size_t>& bytes);
  void look_at_others();
  void make_room(std::unique_lock<std::mutex>& lock, std::size_t bytes);
  void save_marks(std::unique_lock<std::mutex>& lock);
  void verify_all(std::stop_token stop);
  void forget(const PartId& id);
  void keep(const DiskRow& row);
  bool paused() const;

  const Settings settings_;
  const std::filesystem::path folder_;  // of the namespace
  std::optional<DiskIndex> index_;      // of the tier's thread; none: nothing can be written
  OtherSpaces others_;                  // of the tier's thread
  std::chrono::steady_clock::time_point looked_at_{};  // when others_ looked
  std::size_t written_since_ = 0;                      // bytes

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::map<PartId, DiskRow> kept_;
  std::set<std::pair<std::int64_t, PartId>> by_use_;
  std::deque<Waiting> queue_;
  std::set<PartId> queued_;
  std::size_t queued_bytes_ = 0;
  std::set<PartId> marked_;   // whose use the index does not know yet
  std::vector<PartId> gone_;  // that the index still has
  bool writing_ = false;
  std::chrono::steady_clock::time_point paused_until_{};
  bool warned_ = false;
  std::int64_t last_ = 0;  // now()'s
  DiskCacheStats stats_;

  // Last member: it starts after, and is joined before, everything it uses.
  std::jthread thread_;
};

}  // namespace hearth::engine
