// The table of verbs against what is told of it.
#include "cli/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "cli/help.h"

namespace hearth::cli {
namespace {

using ::testing::HasSubstr;

/// Calls `visit(verb, option)` for every option that is shown.
template <class Visit>
void each_option(const Visit& visit) {
  for (const auto& verb : all_verbs()) {
    const auto command = verb.make();
    CommonOptions common;
    const auto table = option_table(verb, *command, common);
    for (const Option* option : table.options()) {
      if (!option->hidden) visit(verb, *option);
    }
  }
}

TEST(Verbs, no_name_is_used_twice) {
  std::set<std::string_view> names;
  for (const auto& verb : all_verbs()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    for (const auto alias : verb.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
}

TEST(Verbs, no_flag_is_declared_twice) {
  for (const auto& verb : all_verbs()) {
    const auto command = verb.make();
    CommonOptions common;
    const auto table = option_table(verb, *command, common);
    std::set<std::string> names;
    for (const Option* option : table.options()) {
      for (const auto& name : option->names) {
        EXPECT_TRUE(names.insert(name).second) << verb.name << " " << name;
      }
    }
  }
}

TEST(Help, shows_every_flag_with_its_meaning) {
  each_option([](const Verb& verb, const Option& option) {
    EXPECT_FALSE(option.help.empty()) << verb.name << " " << option.name();
    for (const auto& name : option.names) {
      EXPECT_THAT(verb_help(verb, 80), HasSubstr(name));
    }
  });
}

TEST(Help, fits_the_width_that_it_is_given) {
  for (const auto& verb : all_verbs()) {
    const std::string help = verb_help(verb, 80);
    std::string_view rest = help;
    while (!rest.empty()) {
      const auto end = rest.find('\n');
      const auto line = rest.substr(0, end);
      if (!line.starts_with("Usage")) {
        EXPECT_LE(line.size(), 100u) << line;
      }
      rest.remove_prefix(end + 1);
    }
  }
}

TEST(Reference, the_page_is_what_the_tables_say) {
  const auto page = read_file(fs::path(HEARTH_DOCS) / "cli.md");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(*page, HasSubstr(reference(all_verbs())))
      << "docs/cli.md is out of date: put the output of `hearth help --reference` in";
}

TEST(Reference, the_page_names_every_flag_and_variable) {
  const auto page = read_file(fs::path(HEARTH_DOCS) / "cli.md");
  ASSERT_TRUE(page) << page.error().message;
  each_option([&](const Verb& verb, const Option& option) {
    for (const auto& name : option.names) {
      EXPECT_THAT(*page, HasSubstr(name)) << verb.name;
    }
    if (!option.env.empty()) {
      EXPECT_THAT(*page, HasSubstr(option.env)) << verb.name;
    }
  });
}

}  // namespace
}  // namespace hearth::cli
