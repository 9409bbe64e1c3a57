// Which block files there are and when each was last used, in SQLite beside them. The files are the
// truth: what the index lacks is read off them, and a broken index is made anew.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/prompt_cache/block_file.h"

struct sqlite3;

namespace hearth::engine {

struct DiskRow {
  PartId id;
  std::size_t bytes = 0;  // of the file
  std::int64_t used = 0;  // the larger, the more recently
  int end = 0;            // tokens of the prompt up to the block's end; 0: not known
  bool operator==(const DiskRow&) const = default;
};

/// Of one thread at a time.
class DiskIndex {
 public:
  /// Opens the index of a folder, or makes it. A broken one is set aside as `index.sqlite.broken`.
  /// Error: io, where the folder cannot be written to; the index is then left as it is.
  static Result<DiskIndex> open(const std::filesystem::path& folder);

  std::vector<DiskRow> rows() const;
  /// All at once or not at all. Errors: io, with SQLite's reason.
  Result<void> put(std::span<const DiskRow> rows);
  Result<void> remove(std::span<const PartId> ids);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  using Database = std::unique_ptr<sqlite3, Close>;

  explicit DiskIndex(Database database) : database_(std::move(database)) {}
  static Result<Database> connect(const std::filesystem::path& file);

  Database database_;
};

/// What the files of a folder tell of themselves; what a process that is gone left unfinished is
/// deleted.
std::vector<DiskRow> rows_of_files(const std::filesystem::path& folder);

/// When a file was last used, by the time of its last change: microseconds since 1970.
std::int64_t last_used(const std::filesystem::path& file);

/// Brings the rows of an index and the files of its folder together: rows without a file go, files
/// without a row get one.
/// @return every file there is
Result<std::vector<DiskRow>> reconcile(DiskIndex& index, const std::filesystem::path& folder);

}  // namespace hearth::engine
