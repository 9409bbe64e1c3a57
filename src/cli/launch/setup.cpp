#include "cli/launch/setup.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/folders.h"
#include "cli/launch/edit.h"

namespace hearth::cli {

struct Setup::Record {
  fs::path path;
  std::optional<std::string> before;  // none: the file was not there
  std::string after;
  std::vector<std::string> folders;  // that were made for it, outermost first
};

namespace {

/// The bytes of a file; none when it is not there.
Result<std::optional<std::string>> read_if_there(const fs::path& path) {
  auto text = read_file(path);
  if (text) return std::optional(std::move(*text));
  if (text.error().code == ErrorCode::not_found) return std::optional<std::string>();
  return fail(text.error());
}

/// As write_file, with the permissions of the file that it replaces; 0600 for a new one, since
/// keys may stand in it.
Result<void> replace(const fs::path& path, std::string_view bytes) {
  struct stat info {};
  const ::mode_t mode = ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0600;
  return write_file(path, bytes, mode);
}

/// Folders on the way to `path` that are not there yet, outermost first.
std::vector<std::string> missing_folders(const fs::path& path) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (auto folder = path.parent_path(); !folder.empty() && !fs::exists(folder, ignored);
       folder = folder.parent_path()) {
    out.insert(out.begin(), folder.string());
  }
  return out;
}

void remove_empty(const std::vector<std::string>& folders) {
  std::error_code ignored;
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    fs::remove(*folder, ignored);  // refuses one with anything in it
  }
}

/// What keeps us from writing there.
Result<void> check_place(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) {
    return fail(ErrorCode::io,
                fmt::format("{} is a symbolic link, which is left alone; see what to put there "
                            "with --print",
                            path.string()));
  }
  auto folder = path.parent_path();
  while (!folder.empty() && !fs::exists(folder, ignored)) folder = folder.parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
    return fail(ErrorCode::io, fmt::format("{} cannot be written to ({}); see what to put into {} "
                                           "with --print",
                                           folder.string(), std::strerror(errno), path.string()));
  }
  return {};
}

}  // namespace

Setup::Setup(const fs::path& state, std::string_view client)
    : folder_(state / "launch" / client), client_(client) {}

std::optional<Setup::Record> Setup::read_record() const {
  const auto json = read_json_file(folder_ / "record.json");
  auto after = read_file(folder_ / "after");
  if (!json || !after || !json->is_object() || !json->contains("path")) return std::nullopt;
  Record out{.path = (*json)["path"].get<std::string>(),
             .before = {},
             .after = std::move(*after),
             .folders = json->value("folders", std::vector<std::string>())};
  if (json->value("existed", false)) {
    auto before = read_file(folder_ / "before");
    if (!before) return std::nullopt;
    out.before = std::move(*before);
  }
  return out;
}

Result<void> Setup::write_record(const Record& record) const {
  if (auto made = make_private_folder(folder_); !made) return made;
  if (auto done = write_file(folder_ / "before", record.before.value_or("")); !done) return done;
  if (auto done = write_file(folder_ / "after", record.after); !done) return done;
  const Json json{{"path", record.path.string()},
                  {"existed", record.before.has_value()},
                  {"folders", record.folders}};
  return write_file(folder_ / "record.json", json.dump(2) + "\n");
}

void Setup::drop_record() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  fs::remove(folder_.parent_path(), ignored);  // when no other client is set up
}

std::string Setup::edited(const fs::path& file) const {
  return fmt::format(
      "{} has been edited since hearth set it up; `hearth launch {} --remove --force` takes out "
      "what hearth put there and leaves the rest",
      file.string(), client_);
}

/// What the file would be had we never written it.
Result<std::optional<std::string>> Setup::base_of(const ClientFile& file, const Record& record,
                                                  bool force) const {
  auto now = read_if_there(record.path);
  if (!now) return fail(now.error());
  if (*now == record.before || *now == record.after) return record.before;
  if (!force) return fail(ErrorCode::invalid_request, edited(record.path));
  if (!*now) return std::optional<std::string>();
  return without_settings(file, **now, record.before);
}

Result<void> Setup::write(const ClientFile& file, bool force) {
  if (auto fit = check_place(file.path); !fit) return fit;
  auto record = read_record();
  if (record && record->path != file.path) {
    return fail(ErrorCode::invalid_request,
                fmt::format("{} is set up in {}; take that out first with --remove", client_,
                            record->path.string()));
  }
  const bool again = record.has_value();
  if (!again) record = Record{.path = file.path, .before = {}, .after = {}, .folders = {}};
  auto base = again ? base_of(file, *record, force) : read_if_there(file.path);
  if (!base) return fail(base.error());
  if (file.kind == ClientFile::Kind::whole && *base) {
    if (is_ours(**base)) {
      *base = std::nullopt;
    } else if (!force) {
      return fail(ErrorCode::invalid_request,
                  fmt::format("{} is there and not hearth's; --force puts ours in its place, and "
                              "--remove brings it back",
                              file.path.string()));
    }
  }
  auto after = with_settings(file, *base);
  if (!after) {
    return fail(after.error().code,
                fmt::format("{}: {}", file.path.string(), after.error().message));
  }
  record->before = std::move(*base);
  record->after = std::move(*after);
  if (!again) record->folders = missing_folders(file.path);
  if (auto kept = write_record(*record); !kept) return kept;
  std::error_code failed;
  fs::create_directories(file.path.parent_path(), failed);
  return replace(file.path, record->after);
}

Result<Setup::Removed> Setup::remove(const ClientFile& file, bool force) {
  const auto record = read_record();
  if (!record) {
    const auto now = read_file(file.path);
    if (file.kind != ClientFile::Kind::whole || !now || !is_ours(*now)) return Removed::nothing;
    std::error_code failed;
    if (!fs::remove(file.path, failed)) {
      return fail(ErrorCode::io, fmt::format("{}: {}", file.path.string(), failed.message()));
    }
    return Removed::deleted;
  }
  const auto now = read_if_there(record->path);
  if (!now) return fail(now.error());
  const auto wanted = base_of(file, *record, force);
  if (!wanted) return fail(wanted.error());
  if (*wanted != *now) {
    std::error_code failed;
    if (!*wanted) fs::remove(record->path, failed);
    if (failed) {
      return fail(ErrorCode::io, fmt::format("{}: {}", record->path.string(), failed.message()));
    }
    if (*wanted) {
      if (auto done = replace(record->path, **wanted); !done) return fail(done.error());
    }
  }
  if (!*wanted) remove_empty(record->folders);
  drop_record();
  if (*wanted == record->before) return *wanted ? Removed::restored : Removed::deleted;
  return *wanted ? Removed::taken_out : Removed::deleted;
}

}  // namespace hearth::cli
