#include "base/folders.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace hearth {
namespace {

namespace fs = std::filesystem;

Environment of(std::map<std::string, std::string, std::less<>> values) {
  values.emplace("HOME", "/home/ada");
  return Environment::of(std::move(values));
}

TEST(Folders, one_home_holds_everything_but_the_hub_cache) {
  const auto f = find_folders(of({{"HEARTH_HOME", "/srv/hearth"}}));
  EXPECT_EQ(f.config, "/srv/hearth");
  EXPECT_EQ(f.data, "/srv/hearth");
  EXPECT_EQ(f.state, "/srv/hearth");
  EXPECT_EQ(f.cache, "/srv/hearth/cache");
  EXPECT_EQ(f.hub, "/home/ada/.cache/huggingface/hub");
}

TEST(Folders, the_cache_can_be_moved_alone) {
  EXPECT_EQ(find_folders(of({{"HEARTH_HOME", "/srv/h"}, {"HEARTH_CACHE", "/big"}})).cache, "/big");
}

#ifndef __APPLE__
TEST(Folders, without_variables_they_are_the_xdg_defaults) {
  const auto f = find_folders(of({}));
  EXPECT_EQ(f.config, "/home/ada/.config/hearth");
  EXPECT_EQ(f.data, "/home/ada/.local/share/hearth");
  EXPECT_EQ(f.state, "/home/ada/.local/state/hearth");
  EXPECT_EQ(f.cache, "/home/ada/.cache/hearth");
  EXPECT_EQ(f.hub, "/home/ada/.cache/huggingface/hub");
}

TEST(Folders, a_relative_or_empty_xdg_folder_is_ignored) {
  const auto f = find_folders(of({{"XDG_DATA_HOME", "relative"}, {"XDG_STATE_HOME", ""}}));
  EXPECT_EQ(f.data, "/home/ada/.local/share/hearth");
  EXPECT_EQ(f.state, "/home/ada/.local/state/hearth");
}
#endif

TEST(Folders, xdg_folders_win_over_the_defaults) {
  const auto f = find_folders(of({{"XDG_CONFIG_HOME", "/c"},
                                  {"XDG_DATA_HOME", "/d"},
                                  {"XDG_STATE_HOME", "/s"},
                                  {"XDG_CACHE_HOME", "/k"},
                                  {"XDG_RUNTIME_DIR", "/run/user/7"}}));
  EXPECT_EQ(f.config, "/c/hearth");
  EXPECT_EQ(f.data, "/d/hearth");
  EXPECT_EQ(f.state, "/s/hearth");
  EXPECT_EQ(f.cache, "/k/hearth");
  EXPECT_EQ(f.runtime, "/run/user/7/hearth");
  EXPECT_EQ(f.hub, "/k/huggingface/hub");
}

TEST(Folders, the_first_hub_variable_that_is_set_wins) {
  EXPECT_EQ(find_folders(of({{"HF_HUB_CACHE", "/a"}, {"HF_HOME", "/b"}})).hub, "/a");
  EXPECT_EQ(find_folders(of({{"HF_HOME", "/b"}, {"XDG_CACHE_HOME", "/k"}})).hub, "/b/hub");
  EXPECT_EQ(find_folders(of({{"HF_HUB_CACHE", ""}, {"HF_HOME", "/b"}})).hub, "/b/hub");
}

TEST(MakePrivateFolder, is_readable_by_its_owner_alone) {
  const fs::path root = fs::temp_directory_path() / ("folders_test." + std::to_string(::getpid()));
  ASSERT_TRUE(make_private_folder(root / "a/b"));
  struct stat info {};
  ASSERT_EQ(::stat((root / "a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(make_private_folder(root / "a/b"));

  std::ofstream(root / "file") << "x";
  const auto refused = make_private_folder(root / "file/below");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find((root / "file").string()), std::string::npos);
  fs::remove_all(root);
}

TEST(Environment, an_empty_variable_is_unset) {
  const auto e = Environment::of({{"A", "1"}, {"B", ""}});
  EXPECT_EQ(e.get("A"), "1");
  EXPECT_FALSE(e.get("B"));
  EXPECT_EQ(e.get_or("C", "x"), "x");
}

}  // namespace
}  // namespace hearth
