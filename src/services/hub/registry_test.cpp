#include "services/hub/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/hub/test_models.h"

namespace hearth::services::hub {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> ids(const Registry& registry) {
  std::vector<std::string> out;
  for (const auto& record : registry.all()) out.push_back(record.repo_id);
  return out;
}

struct RegistryTest : ::testing::Test {
  Scratch scratch;
  fs::path hub = scratch.path / "hub", plain = scratch.path / "plain";
  fs::path file = scratch.path / "cache/registry.sqlite";

  fs::path add_snapshot(const std::string& repository, const std::string& commit, bool main) {
    const fs::path folder = hub / repository;
    write_model(folder / "snapshots" / commit);
    if (main) write_text(folder / "refs/main", commit + "\n");
    return folder / "snapshots" / commit;
  }
};

TEST_F(RegistryTest, finds_snapshots_and_plain_folders) {
  add_snapshot("models--org--one", "aaa", true);
  add_snapshot("models--org--one", "bbb", false);
  write_text(hub / "models--org--empty/refs/main", "ccc");
  write_text(hub / "datasets--org--x/snapshots/d/config.json", "{}");
  write_model(plain / "group/two");
  write_model(plain / "three");
  write_model(plain / "a/b/c/too-deep");
  EXPECT_THAT(find_models(hub), ::testing::SizeIs(2));
  EXPECT_TRUE(find_models(hub)[0].is_main);
  EXPECT_EQ(find_models(hub)[0].repo_id, "org/one");
  EXPECT_FALSE(find_models(hub)[1].is_main);
  const auto places = find_models(plain);
  ASSERT_THAT(places, ::testing::SizeIs(2));
  EXPECT_EQ(places[0].repo_id, "group/two");
  EXPECT_EQ(places[1].repo_id, "three");
}

TEST_F(RegistryTest, a_cache_path_tells_its_repository) {
  const auto snapshot = add_snapshot("models--org--one--v2", "aaa", true);
  EXPECT_EQ(place_in_cache(snapshot)->repo_id, "org/one--v2");
  EXPECT_EQ(place_in_cache(snapshot.string() + "/")->revision, "aaa");
  EXPECT_FALSE(place_in_cache(plain / "three"));
}

TEST_F(RegistryTest, rows_survive_in_the_file) {
  write_model(plain / "one");
  std::vector<ModelRecord> before;
  {
    auto registry = Registry::open(file);
    scan(registry, {.roots = {plain}});
    before = registry.all();
  }
  ASSERT_THAT(before, ::testing::SizeIs(1));
  EXPECT_EQ(Registry::open(file).all(), before);
}

TEST_F(RegistryTest, unchanged_folders_are_not_read_again) {
  write_model(plain / "one");
  write_model(plain / "two");
  auto registry = Registry::open(file);
  EXPECT_EQ(scan(registry, {.roots = {plain}}).read, 2);
  EXPECT_EQ(scan(registry, {.roots = {plain}}).read, 0);
  fs::resize_file(plain / "one/model.safetensors", 20);
  const auto report = scan(registry, {.roots = {plain}});
  EXPECT_EQ(report.read, 1);
  EXPECT_EQ(report.broken, 1);
  EXPECT_EQ(scan(registry, {.roots = {plain}, .all = true}).read, 2);
}

TEST_F(RegistryTest, vanished_folders_go_and_added_ones_stay) {
  write_model(plain / "one");
  write_model(scratch.path / "extra/two");
  auto registry = Registry::open(file);
  scan(registry, {.roots = {plain}, .added = {scratch.path / "extra"}});
  EXPECT_THAT(ids(registry), ElementsAre("two", "one"));
  scan(registry, {.roots = {plain}});
  EXPECT_THAT(ids(registry), ElementsAre("two", "one"));
  fs::remove_all(scratch.path / "extra");
  EXPECT_EQ(scan(registry, {.roots = {plain}}).removed, 1);
  EXPECT_THAT(ids(registry), ElementsAre("one"));
  scan(registry, {.roots = {}});
  EXPECT_THAT(ids(registry), ElementsAre());
}

TEST_F(RegistryTest, a_broken_or_older_index_is_rebuilt) {
  write_model(plain / "one");
  write_text(file, std::string(4096, 'x'));
  {
    auto registry = Registry::open(file);
    EXPECT_TRUE(fs::exists(file.string() + ".broken"));
    scan(registry, {.roots = {plain}});
    EXPECT_THAT(ids(registry), ElementsAre("one"));
  }
  EXPECT_THAT(ids(Registry::open(file)), ElementsAre("one"));
}

TEST_F(RegistryTest, where_nothing_can_be_written_it_lives_in_memory) {
  write_model(plain / "one");
  write_text(scratch.path / "not-a-folder", "x");
  auto registry = Registry::open(scratch.path / "not-a-folder/registry.sqlite");
  scan(registry, {.roots = {plain}});
  EXPECT_THAT(ids(registry), ElementsAre("one"));
}

TEST_F(RegistryTest, roots_are_hub_cache_data_folder_and_the_listed_ones) {
  const Folders folders{.data = "/d", .hub = "/h"};
  EXPECT_THAT(model_roots(folders, Environment::of({{"HEARTH_MODEL_DIRS", "/x::/y"}})),
              ElementsAre("/h", "/d/models", "/x", "/y"));
}

}  // namespace
}  // namespace hearth::services::hub
