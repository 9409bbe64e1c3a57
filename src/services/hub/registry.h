// The index of models: SQLite table `models`, one row a folder. Derived data: a file that is
// broken or of another schema is rebuilt by the next scan.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "services/hub/record.h"
#include "services/hub/roots.h"

struct sqlite3;

namespace hearth::services::hub {

class Registry {
 public:
  /// Opens or makes the index. A broken file is moved aside with a warning; where nothing can be
  /// written (a read-only folder) the index lives in memory. An empty path: in memory.
  static Registry open(const std::filesystem::path& file);

  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;
  ~Registry();

  /// Every row, by path.
  std::vector<ModelRecord> all() const;
  /// Replaces all rows in one transaction.
  void replace(const std::vector<ModelRecord>& records);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Registry(std::unique_ptr<sqlite3, Close> database);
  std::unique_ptr<sqlite3, Close> database_;
};

struct ScanReport {
  int models = 0;   // folders found
  int read = 0;     // of them read anew; the others have not changed
  int removed = 0;  // rows whose folder has vanished
  int broken = 0;   // rows with an error
};

struct ScanOptions {
  std::vector<std::filesystem::path> roots;  // the usual ones
  std::vector<std::filesystem::path> added;  // by `scan --dir`: their rows stay from now on
  bool all = false;                          // read every folder anew
};

/// Brings the index up to date. A folder whose files have not changed since its row was written is
/// not read again. Rows of vanished folders, and of roots that are no longer named, go.
ScanReport scan(Registry& registry, const ScanOptions& options);

}  // namespace hearth::services::hub
