#include "fixture.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "base/file.h"

namespace hearth::text_suite {

std::filesystem::path fixtures() {
  const char* cache = std::getenv("HEARTH_CACHE_DIR");
  const std::filesystem::path root = cache && *cache ? cache : HEARTH_DEFAULT_CACHE;
  const auto folder = root / "text" / "current";
  if (!std::filesystem::exists(folder / "complete.json")) {
    throw std::runtime_error(folder.string() + ": missing; tests/text/make_fixtures.py makes it");
  }
  return folder;
}

Json fixture(const std::filesystem::path& name) {
  const auto path = fixtures() / name;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": missing");
  return Json::parse(file);
}

std::set<std::string> known_differences(const std::string& title) {
  std::ifstream readme(HEARTH_TEXT_README);
  if (!readme) throw std::runtime_error(std::string(HEARTH_TEXT_README) + ": missing");
  std::set<std::string> keys;
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("#")) inside = line.ends_with(title);
    if (!inside || !line.starts_with("| `")) continue;
    const auto end = line.find('`', 3);
    if (end != line.npos) keys.insert(line.substr(3, end - 3));
  }
  return keys;
}

}  // namespace hearth::text_suite
