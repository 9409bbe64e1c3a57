#include "engine/prompt_cache/disk_index.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/file.h"
#include "base/log.h"

namespace hearth::engine {
namespace {

constexpr const char* schema =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "CREATE TABLE IF NOT EXISTS blocks("
    "file TEXT PRIMARY KEY, bytes INTEGER NOT NULL, used INTEGER NOT NULL,"
    "stop INTEGER NOT NULL) WITHOUT ROWID;";
constexpr int busy_ms = 2000;  // another process may be at it

/// io where the place is to blame: it is full, not ours to write to, in use; else corrupt_file.
ErrorCode code_of(int error) {
  switch (error & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return ErrorCode::io;
    default:
      return ErrorCode::corrupt_file;
  }
}

tl::unexpected<Error> failed(sqlite3* database, std::string_view what) {
  return fail(code_of(sqlite3_errcode(database)),
              fmt::format("the index of cached blocks: {}: {}", what, sqlite3_errmsg(database)));
}

Result<void> execute(sqlite3* database, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failed(database, sql);
}

/// A prepared statement.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;

  Statement& bind(int at, const std::string& text) {
    sqlite3_bind_text(statement_, at, text.data(), int(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(int at, std::int64_t number) {
    sqlite3_bind_int64(statement_, at, number);
    return *this;
  }
  bool next() { return statement_ && sqlite3_step(statement_) == SQLITE_ROW; }
  bool run() {
    const bool done = statement_ && sqlite3_step(statement_) == SQLITE_DONE;
    if (statement_) sqlite3_reset(statement_);
    return done;
  }
  std::string text(int column) const {
    const auto* found = sqlite3_column_text(statement_, column);
    return found ? reinterpret_cast<const char*>(found) : "";
  }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

/// Runs `work` for each item in one transaction.
template <class Items, class Work>
Result<void> for_all(sqlite3* database, const char* sql, const Items& items, const Work& work) {
  if (items.empty()) return {};
  if (auto begun = execute(database, "BEGIN IMMEDIATE"); !begun) return begun;
  {
    Statement statement(database, sql);
    for (const auto& item : items) {
      work(statement, item);
      if (statement.run()) continue;
      auto error = failed(database, sql);
      (void)execute(database, "ROLLBACK");
      return error;
    }
  }
  return execute(database, "COMMIT");
}

/// The block files of a folder and their sizes. Deletes what was left unfinished.
std::map<PartId, std::size_t> files_in(const fs::path& folder) {
  std::map<PartId, std::size_t> found;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const auto name = it->path().filename().string();
    std::error_code ignored;
    if (is_left_over(name)) fs::remove(it->path(), ignored);
    if (const auto id = parse_file_name(name)) found[*id] = it->file_size(ignored);
  }
  return found;
}

}  // namespace

std::int64_t last_used(const fs::path& file) {
  std::error_code ignored;
  const auto written = fs::last_write_time(file, ignored);
  const auto age = fs::file_time_type::clock::now() - written;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now - age).count();
}

void DiskIndex::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<DiskIndex::Database> DiskIndex::connect(const fs::path& file) {
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int opened = sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (opened != SQLITE_OK) return failed(raw, "open");
  sqlite3_busy_timeout(raw, busy_ms);
  if (auto made = execute(raw, schema); !made) return fail(made.error());
  Statement sound(raw, "PRAGMA quick_check(1)");
  if (!sound.next() || sound.text(0) != "ok") return failed(raw, "it is damaged");
  Statement readable(raw, "SELECT file, bytes, used, stop FROM blocks LIMIT 1");
  readable.next();
  if (sqlite3_errcode(raw) != SQLITE_OK && sqlite3_errcode(raw) != SQLITE_ROW &&
      sqlite3_errcode(raw) != SQLITE_DONE) {
    return failed(raw, "it cannot be read");
  }
  return database;
}

Result<DiskIndex> DiskIndex::open(const fs::path& folder) {
  const auto file = folder / "index.sqlite";
  auto database = connect(file);
  if (!database) {
    std::error_code ignored;
    if (database.error().code == ErrorCode::io) return fail(database.error());
    log::warn("{}; it is made anew from the files", database.error().message);
    for (const char* more : {"", "-wal", "-shm"}) {
      fs::rename(file.string() + more, file.string() + ".broken" + more, ignored);
    }
    database = connect(file);
  }
  if (!database) return fail(database.error());
  return DiskIndex(std::move(*database));
}

std::vector<DiskRow> DiskIndex::rows() const {
  std::vector<DiskRow> rows;
  Statement all(database_.get(), "SELECT file, bytes, used, stop FROM blocks");
  while (all.next()) {
    const auto id = parse_file_name(all.text(0));
    if (id) rows.push_back({*id, std::size_t(all.number(1)), all.number(2), int(all.number(3))});
  }
  return rows;
}

Result<void> DiskIndex::put(std::span<const DiskRow> rows) {
  return for_all(database_.get(), "INSERT OR REPLACE INTO blocks VALUES(?, ?, ?, ?)", rows,
                 [](Statement& statement, const DiskRow& row) {
                   statement.bind(1, file_name(row.id))
                       .bind(2, std::int64_t(row.bytes))
                       .bind(3, row.used)
                       .bind(4, std::int64_t(row.end));
                 });
}

Result<void> DiskIndex::remove(std::span<const PartId> ids) {
  return for_all(database_.get(), "DELETE FROM blocks WHERE file = ?", ids,
                 [](Statement& statement, const PartId& id) { statement.bind(1, file_name(id)); });
}

std::vector<DiskRow> rows_of_files(const fs::path& folder) {
  std::vector<DiskRow> rows;
  for (const auto& [id, bytes] : files_in(folder)) {
    rows.push_back({.id = id, .bytes = bytes, .used = last_used(folder / file_name(id))});
  }
  return rows;
}

Result<std::vector<DiskRow>> reconcile(DiskIndex& index, const fs::path& folder) {
  std::map<PartId, DiskRow> files;
  for (auto& row : rows_of_files(folder)) files.emplace(row.id, row);
  std::vector<DiskRow> rows, found;
  std::vector<PartId> gone;
  for (const auto& row : index.rows()) {
    const auto file = files.find(row.id);
    if (file == files.end()) {
      gone.push_back(row.id);
      continue;
    }
    if (file->second.bytes != row.bytes) continue;  // as if it had no row
    rows.push_back(row);
    files.erase(file);
  }
  for (const auto& [id, row] : files) found.push_back(row);
  if (auto ok = index.remove(gone); !ok) return fail(ok.error());
  if (auto ok = index.put(found); !ok) return fail(ok.error());
  rows.insert(rows.end(), found.begin(), found.end());
  return rows;
}

}  // namespace hearth::engine
