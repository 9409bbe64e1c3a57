#include "services/hub/registry.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <map>
#include <variant>

#include "base/file.h"
#include "base/log.h"

namespace hearth::services::hub {
namespace {

constexpr int schema_version = 1;

struct Column {
  const char* name;
  std::variant<std::string ModelRecord::*, std::int64_t ModelRecord::*, int ModelRecord::*,
               bool ModelRecord::*>
      field;
};

const std::vector<Column>& columns() {
  using R = ModelRecord;
  static const std::vector<Column> all{
      {"path", &R::path},
      {"repo_id", &R::repo_id},
      {"revision", &R::revision},
      {"is_main", &R::is_main},
      {"model_type", &R::model_type},
      {"kind", &R::kind},
      {"param_count", &R::param_count},
      {"size_bytes", &R::size_bytes},
      {"sidecar_bytes", &R::sidecar_bytes},
      {"experts_bytes", &R::experts_bytes},
      {"quant_bits", &R::quant_bits},
      {"quant_group_size", &R::quant_group_size},
      {"quant_mode", &R::quant_mode},
      {"dtype", &R::dtype},
      {"num_layers", &R::num_layers},
      {"hidden_size", &R::hidden_size},
      {"vocab_size", &R::vocab_size},
      {"max_positions", &R::max_positions},
      {"kv_heads", &R::kv_heads},
      {"head_dim", &R::head_dim},
      {"has_vision_sidecar", &R::has_vision_sidecar},
      {"has_audio_config", &R::has_audio_config},
      {"has_audio_tower", &R::has_audio_tower},
      {"has_kv_config", &R::has_kv_config},
      {"has_tool_template", &R::has_tool_template},
      {"has_chat_template", &R::has_chat_template},
      {"vision_config_type", &R::vision_config_type},
      {"license", &R::license},
      {"added", &R::added},
      {"error", &R::error},
      {"stamp", &R::stamp},
      {"scanned_at", &R::scanned_at},
  };
  return all;
}

std::string joined(const char* separator, const std::function<std::string(const Column&)>& word) {
  std::vector<std::string> words;
  for (const auto& column : columns()) words.push_back(word(column));
  return fmt::format("{}", fmt::join(words, separator));
}

std::string create_sql() {
  return fmt::format("CREATE TABLE models ({});", joined(", ", [](const Column& column) {
                       const bool text = column.field.index() == 0;
                       const bool key = std::string_view(column.name) == "path";
                       return fmt::format("{} {}{}", column.name, text ? "TEXT" : "INTEGER",
                                          key ? " PRIMARY KEY" : " NOT NULL");
                     }));
}

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

Statement prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr);
  return {statement, &sqlite3_finalize};
}

bool execute(sqlite3* database, const std::string& sql) {
  return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

int user_version(sqlite3* database) {
  const auto statement = prepare(database, "PRAGMA user_version");
  return statement && sqlite3_step(statement.get()) == SQLITE_ROW
             ? sqlite3_column_int(statement.get(), 0)
             : -1;
}

void bind(sqlite3_stmt* statement, int at, const ModelRecord& record, const Column& column) {
  std::visit(
      [&](auto field) {
        const auto& value = record.*field;
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
          sqlite3_bind_text(statement, at, value.data(), static_cast<int>(value.size()),
                            SQLITE_TRANSIENT);
        } else {
          sqlite3_bind_int64(statement, at, value);
        }
      },
      column.field);
}

void take(sqlite3_stmt* statement, int at, ModelRecord& record, const Column& column) {
  std::visit(
      [&](auto field) {
        using T = std::decay_t<decltype(record.*field)>;
        if constexpr (std::is_same_v<T, std::string>) {
          const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, at));
          record.*field = text == nullptr ? "" : text;
        } else {
          record.*field = static_cast<T>(sqlite3_column_int64(statement, at));
        }
      },
      column.field);
}

/// Opens `name` and makes sure that it holds the table of today's schema.
/// Null when it cannot be written, is no database, or is broken.
sqlite3* open_database(const std::string& name) {
  sqlite3* database = nullptr;
  const int opened =
      sqlite3_open_v2(name.c_str(), &database,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  bool sound = opened == SQLITE_OK;
  sqlite3_busy_timeout(database, 5000);
  sound = sound && execute(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;");
  if (sound && user_version(database) != schema_version) {
    sound = execute(database, fmt::format("BEGIN IMMEDIATE; DROP TABLE IF EXISTS models; {} "
                                          "PRAGMA user_version={}; COMMIT;",
                                          create_sql(), schema_version));
  }
  sound = sound && prepare(database, "SELECT " + joined(",", [](const Column& c) {
                                       return std::string(c.name);
                                     }) + " FROM models") != nullptr;
  if (sound) return database;
  sqlite3_close(database);
  return nullptr;
}

ModelRecord placed(ModelRecord record, const Place& place) {
  record.repo_id = place.repo_id;
  record.revision = place.revision;
  record.is_main = place.is_main;
  return record;
}

}  // namespace

void Registry::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Registry::Registry(std::unique_ptr<sqlite3, Close> database) : database_(std::move(database)) {}
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&&) noexcept = default;
Registry::~Registry() = default;

Registry Registry::open(const fs::path& file) {
  using Handle = std::unique_ptr<sqlite3, Close>;
  if (file.empty()) return Registry(Handle(open_database(":memory:")));
  std::error_code ec;
  fs::create_directories(file.parent_path(), ec);
  if (sqlite3* database = open_database(file.string())) return Registry(Handle(database));
  if (fs::is_regular_file(file, ec)) {
    const fs::path aside = file.string() + ".broken";
    fs::rename(file, aside, ec);
    fs::remove(file.string() + "-wal", ec);
    fs::remove(file.string() + "-shm", ec);
    if (sqlite3* database = open_database(file.string())) {
      log::warn("{}: the index was broken; it is rebuilt, the old one is {}", file.string(),
                aside.string());
      return Registry(Handle(database));
    }
  }
  log::debug("{}: not writable, the index is kept in memory", file.string());
  return Registry(Handle(open_database(":memory:")));
}

std::vector<ModelRecord> Registry::all() const {
  std::vector<ModelRecord> out;
  const auto statement = prepare(database_.get(), "SELECT " + joined(",", [](const Column& c) {
                                                    return std::string(c.name);
                                                  }) + " FROM models ORDER BY path");
  while (statement && sqlite3_step(statement.get()) == SQLITE_ROW) {
    auto& record = out.emplace_back();
    int at = 0;
    for (const auto& column : columns()) take(statement.get(), at++, record, column);
  }
  return out;
}

void Registry::replace(const std::vector<ModelRecord>& records) {
  execute(database_.get(), "BEGIN IMMEDIATE; DELETE FROM models;");
  const auto insert =
      prepare(database_.get(), fmt::format("INSERT OR REPLACE INTO models VALUES ({})",
                                           joined(",", [](const Column&) { return "?"; })));
  for (const auto& record : records) {
    if (!insert) break;
    int at = 1;
    for (const auto& column : columns()) bind(insert.get(), at++, record, column);
    sqlite3_step(insert.get());
    sqlite3_reset(insert.get());
  }
  execute(database_.get(), "COMMIT");
}

ScanReport scan(Registry& registry, const ScanOptions& options) {
  ScanReport report;
  std::map<std::string, ModelRecord> known, now;
  for (auto& record : registry.all()) known.emplace(record.path, std::move(record));

  const auto take = [&](const Place& place, bool added) {
    const std::string path = place.path.string();
    if (now.contains(path)) return;
    const auto old = known.find(path);
    const bool same =
        !options.all && old != known.end() && old->second.stamp == folder_stamp(place.path);
    if (!same) ++report.read;
    auto record = placed(same ? old->second : read_record(place.path), place);
    record.added = added;
    now.emplace(path, std::move(record));
  };
  for (const auto& root : options.roots) {
    for (const auto& place : find_models(root)) take(place, false);
  }
  for (const auto& root : options.added) {
    for (const auto& place : find_models(root)) take(place, true);
  }
  for (const auto& [path, record] : known) {
    std::error_code ec;
    const bool there = fs::exists(fs::path(path) / "config.json", ec);
    if (!there) ++report.removed;
    if (there && record.added) take({path, record.repo_id, record.revision, record.is_main}, true);
  }

  std::vector<ModelRecord> before, after;
  for (auto& [path, record] : known) before.push_back(std::move(record));
  for (auto& [path, record] : now) after.push_back(std::move(record));
  report.models = static_cast<int>(after.size());
  report.broken = static_cast<int>(
      std::ranges::count_if(after, [](const auto& record) { return !record.error.empty(); }));
  if (after != before) registry.replace(after);
  return report;
}

}  // namespace hearth::services::hub
