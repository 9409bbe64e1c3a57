#include "base/folders.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hearth {
namespace {

namespace fs = std::filesystem;

fs::path home_of(const Environment& environment) {
  if (const auto home = environment.get("HOME")) return *home;
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr && entry->pw_dir != nullptr ? fs::path(entry->pw_dir) : fs::path("/");
}

fs::path temporary_of(const Environment& environment) {
  return environment.get_or("TMPDIR", "/tmp");
}

/// An XDG variable's folder, or `otherwise` when it is unset or relative.
fs::path xdg(const Environment& environment, std::string_view name, const fs::path& otherwise) {
  const auto value = environment.get(name);
  return value && fs::path(*value).is_absolute() ? fs::path(*value) : otherwise;
}

Folders platform_folders(const Environment& environment, const fs::path& home) {
#ifdef __APPLE__
  const fs::path support = home / "Library/Application Support/hearth";
  Folders folders{.config = support,
                  .data = support,
                  .state = support,
                  .cache = home / "Library/Caches/hearth",
                  .runtime = temporary_of(environment) / "hearth"};
#else
  Folders folders{.config = home / ".config/hearth",
                  .data = home / ".local/share/hearth",
                  .state = home / ".local/state/hearth",
                  .cache = home / ".cache/hearth",
                  .runtime = temporary_of(environment) / fmt::format("hearth-{}", ::getuid())};
#endif
  folders.config = xdg(environment, "XDG_CONFIG_HOME", folders.config.parent_path()) / "hearth";
  folders.data = xdg(environment, "XDG_DATA_HOME", folders.data.parent_path()) / "hearth";
  folders.state = xdg(environment, "XDG_STATE_HOME", folders.state.parent_path()) / "hearth";
  folders.cache = xdg(environment, "XDG_CACHE_HOME", folders.cache.parent_path()) / "hearth";
  if (const auto runtime = environment.get("XDG_RUNTIME_DIR")) {
    folders.runtime = fs::path(*runtime) / "hearth";
  }
  return folders;
}

fs::path hub_cache(const Environment& environment, const fs::path& home) {
  if (const auto cache = environment.get("HF_HUB_CACHE")) return *cache;
  if (const auto hf_home = environment.get("HF_HOME")) return fs::path(*hf_home) / "hub";
  return xdg(environment, "XDG_CACHE_HOME", home / ".cache") / "huggingface/hub";
}

}  // namespace

Folders find_folders(const Environment& environment) {
  const fs::path home = home_of(environment);
  Folders folders = platform_folders(environment, home);
  if (const auto one = environment.get("HEARTH_HOME")) {
    const fs::path root = fs::absolute(*one);
    folders = {.config = root,
               .data = root,
               .state = root,
               .cache = root / "cache",
               .runtime = folders.runtime};
  }
  if (const auto cache = environment.get("HEARTH_CACHE")) folders.cache = fs::absolute(*cache);
  folders.hub = hub_cache(environment, home);
  return folders;
}

Result<void> make_private_folder(const fs::path& folder) {
  std::error_code ec;
  if (fs::is_directory(folder, ec)) return {};
  if (folder.has_parent_path() && folder.parent_path() != folder) {
    if (auto parent = make_private_folder(folder.parent_path()); !parent) return parent;
  }
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) {
    if (fs::is_directory(folder, ec)) return {};
    errno = ENOTDIR;
  }
  return fail(ErrorCode::io, fmt::format("{}: the folder could not be created: {}", folder.string(),
                                         std::strerror(errno)));
}

}  // namespace hearth
