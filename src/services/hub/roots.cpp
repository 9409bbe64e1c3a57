#include "services/hub/roots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/file.h"

namespace hearth::services::hub {
namespace {

bool has_config(const fs::path& folder) {
  std::error_code ec;
  return fs::exists(folder / "config.json", ec);
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

std::string commit_of(const fs::path& ref) {
  auto text = read_file(ref);
  if (!text) return "";
  while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back()))) text->pop_back();
  return *text;
}

void add_snapshots(std::vector<Place>& out, const fs::path& repository, const std::string& id) {
  const std::string main = commit_of(repository / "refs/main");
  for (const auto& snapshot : folders_in(repository / "snapshots")) {
    if (!has_config(snapshot)) continue;
    const std::string commit = snapshot.filename().string();
    out.push_back({.path = snapshot, .repo_id = id, .revision = commit, .is_main = commit == main});
  }
}

void add_below(std::vector<Place>& out, const fs::path& folder, const fs::path& root, int levels) {
  if (has_config(folder)) {
    const auto id = folder == root ? folder.filename() : folder.lexically_relative(root);
    out.push_back(
        {.path = folder, .repo_id = id.generic_string(), .revision = "", .is_main = true});
    return;
  }
  if (levels == 0) return;
  for (const auto& inner : folders_in(folder)) {
    const auto name = inner.filename().string();
    if (const auto repo = repo_of_cache_folder(name)) {
      add_snapshots(out, inner, *repo);
    } else if (!name.starts_with('.') && !name.starts_with("datasets--") &&
               !name.starts_with("spaces--")) {
      add_below(out, inner, root, levels - 1);
    }
  }
}

}  // namespace

std::optional<std::string> repo_of_cache_folder(std::string_view folder) {
  constexpr std::string_view prefix = "models--";
  if (!folder.starts_with(prefix)) return std::nullopt;
  const auto id = folder.substr(prefix.size());
  if (id.empty()) return std::nullopt;
  const auto dashes = id.find("--");
  if (dashes == id.npos) return std::string(id);
  return fmt::format("{}/{}", id.substr(0, dashes), id.substr(dashes + 2));
}

std::optional<Place> place_in_cache(const fs::path& model) {
  fs::path path = fs::absolute(model).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (path.parent_path().filename() != "snapshots") return std::nullopt;
  const fs::path repository = path.parent_path().parent_path();
  const auto id = repo_of_cache_folder(repository.filename().string());
  if (!id) return std::nullopt;
  const std::string commit = path.filename().string();
  return Place{.path = path,
               .repo_id = *id,
               .revision = commit,
               .is_main = commit_of(repository / "refs/main") == commit};
}

std::vector<Place> find_models(const fs::path& root) {
  std::vector<Place> out;
  const fs::path absolute = fs::absolute(root).lexically_normal();
  add_below(out, absolute.has_filename() ? absolute : absolute.parent_path(),
            absolute.has_filename() ? absolute : absolute.parent_path(), 3);
  return out;
}

std::vector<fs::path> model_roots(const Folders& folders, const Environment& environment) {
  std::vector<fs::path> roots{folders.hub, folders.data / "models"};
  std::string list = environment.get_or("HEARTH_MODEL_DIRS", "");
  while (!list.empty()) {
    const auto colon = std::min(list.find(':'), list.size());
    if (colon > 0) roots.emplace_back(list.substr(0, colon));
    list.erase(0, colon + 1);
  }
  return roots;
}

}  // namespace hearth::services::hub
