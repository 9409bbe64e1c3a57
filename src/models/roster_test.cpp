// docs/models.md lists the families that are registered: its table is made here.
// HEARTH_WRITE_DOCS=1 writes it instead of comparing.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "models/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view begin = "<!-- roster: made by models_test -->\n";
constexpr std::string_view end = "<!-- end of the roster -->";

std::string table() {
  std::string rows = "| model_type | Tool calls |\n|---|---|\n";
  std::set<const Family*> seen;
  for (const auto type : known_model_types()) {
    const Family* family = find_family(type);
    if (!seen.insert(family).second) continue;
    std::vector<std::string> types;
    for (const auto name : family->model_types) types.push_back(fmt::format("`{}`", name));
    const bool none = family->tool_calls == ToolDialect::none;
    rows += fmt::format("| {} | {} |\n", fmt::join(types, ", "),
                        none ? "as its template shows" : to_string(family->tool_calls));
  }
  return rows;
}

TEST(Roster, IsTheTableOfTheDocs) {
  const std::string file = HEARTH_SOURCE_DIR "/docs/models.md";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string docs = text.str();
  const auto from = docs.find(begin), to = docs.find(end);
  ASSERT_NE(from, docs.npos) << file << " has no place for the roster";
  ASSERT_NE(to, docs.npos);
  const auto at = from + begin.size();
  if (std::getenv("HEARTH_WRITE_DOCS")) {
    std::ofstream(file) << docs.substr(0, at) << table() << docs.substr(to);
    return;
  }
  EXPECT_EQ(docs.substr(at, to - at), table()) << "HEARTH_WRITE_DOCS=1 writes it";
}

}  // namespace
}  // namespace hearth::models
