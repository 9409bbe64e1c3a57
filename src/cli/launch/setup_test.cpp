// Every client's file: set up, undone byte for byte, and what stands in the way.
#include "cli/launch/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace hearth::cli {
namespace {

using ::testing::HasSubstr;
using Removed = Setup::Removed;

class SetupTest : public ::testing::Test {
 protected:
  SetupTest() {
    char name[] = "/tmp/hearth-setup-XXXXXX";
    home_ = ::mkdtemp(name);
    environment_ = Environment::of({{"HOME", home_.string()}});
  }
  ~SetupTest() override { fs::remove_all(home_); }

  cli::Setup setup(std::string_view client) const { return {home_ / "state", client}; }
  ClientFile config(std::string_view client, std::string model = "m") const {
    return find_client(client)->config(Target{.model = std::move(model)}, environment_);
  }
  void put(const fs::path& path, std::string_view bytes) const {
    ASSERT_TRUE(write_file(path, bytes));
  }
  static std::string bytes(const fs::path& path) { return read_file(path).value_or("(no file)"); }
  /// Files below the home folder but for hearth's own.
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(home_)) {
      const auto name = entry.path().lexically_relative(home_).string();
      if (!name.starts_with("state")) out.push_back(name);
    }
    return out;
  }

  fs::path home_;
  Environment environment_;
};

const std::vector<std::string_view> names{"claude", "codex", "opencode", "aider", "pi"};

TEST_F(SetupTest, what_was_not_there_is_gone_again_with_its_folders) {
  for (const auto name : names) {
    const auto file = config(name);
    ASSERT_TRUE(setup(name).write(file, false)) << name;
    EXPECT_THAT(bytes(file.path), HasSubstr("127.0.0.1:8080")) << name;
    const auto removed = setup(name).remove(file, false);
    ASSERT_TRUE(removed) << name << removed.error().message;
    EXPECT_EQ(*removed, Removed::deleted) << name;
    EXPECT_THAT(files(), ::testing::IsEmpty()) << name;
    EXPECT_EQ(*setup(name).remove(file, false), Removed::nothing) << name;
  }
}

TEST_F(SetupTest, what_was_there_comes_back_byte_for_byte_even_after_a_second_set_up) {
  const std::string json = "{\n\t\"env\": { \"ANTHROPIC_MODEL\" : \"opus\" },\r\n \"x\": [1,\n2]}";
  const std::string yaml = "# mine\nmodel: gpt-4o\ndark-mode: true";
  for (const auto& [name, text] :
       {std::pair("claude", json), std::pair("opencode", json), std::pair("aider", yaml)}) {
    const auto file = config(name);
    put(file.path, text);
    ASSERT_EQ(::chmod(file.path.c_str(), 0640), 0);
    ASSERT_TRUE(setup(name).write(file, false)) << name;
    ASSERT_TRUE(setup(name).write(config(name, "other-model"), false)) << name;
    EXPECT_THAT(bytes(file.path), HasSubstr("other-model"));
    EXPECT_THAT(bytes(file.path), ::testing::Not(HasSubstr("\"m\"")));
    EXPECT_EQ(*setup(name).remove(file, false), Removed::restored) << name;
    EXPECT_EQ(bytes(file.path), text) << name;
    struct stat info {};
    ASSERT_EQ(::stat(file.path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0640u) << name;
  }
}

TEST_F(SetupTest, a_file_edited_since_is_left_alone_unless_forced) {
  const auto file = config("claude");
  put(file.path, "{\"env\": {\"ANTHROPIC_MODEL\": \"opus\"}, \"theme\": \"dark\"}");
  ASSERT_TRUE(setup("claude").write(file, false));
  auto changed = bytes(file.path);
  changed.replace(changed.find("dark"), 4, "light");
  put(file.path, changed);
  const auto refused = setup("claude").remove(file, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("edited since"));
  EXPECT_EQ(bytes(file.path), changed);
  EXPECT_FALSE(setup("claude").write(file, false));
  EXPECT_EQ(*setup("claude").remove(file, true), Removed::taken_out);
  EXPECT_EQ(Json::parse(bytes(file.path)),
            Json::parse("{\"env\": {\"ANTHROPIC_MODEL\": \"opus\"}, \"theme\": \"light\"}"));
}

TEST_F(SetupTest, forced_removal_leaves_what_the_user_added_to_our_file) {
  const auto file = config("opencode");
  ASSERT_TRUE(setup("opencode").write(file, false));
  auto changed = bytes(file.path);
  changed.insert(changed.find('{') + 1, "\n  \"theme\": \"x\",");
  put(file.path, changed);
  EXPECT_EQ(*setup("opencode").remove(file, true), Removed::taken_out);
  EXPECT_EQ(Json::parse(bytes(file.path)), Json::parse("{\"theme\": \"x\"}"));

  const auto yaml = config("aider");
  put(yaml.path, "model: a\n");
  ASSERT_TRUE(setup("aider").write(yaml, false));
  put(yaml.path, bytes(yaml.path) + "vim: true\n");
  EXPECT_EQ(*setup("aider").remove(yaml, true), Removed::taken_out);
  EXPECT_EQ(bytes(yaml.path), "model: a\nvim: true\n");
}

TEST_F(SetupTest, foreign_files_symbolic_links_and_locked_folders_are_left_alone) {
  const auto file = config("pi");
  put(file.path, "export default 1\n");
  EXPECT_THAT(setup("pi").write(file, false).error().message, HasSubstr("not hearth's"));
  EXPECT_EQ(*setup("pi").remove(file, false), Removed::nothing);
  EXPECT_EQ(bytes(file.path), "export default 1\n");
  ASSERT_TRUE(setup("pi").write(file, true));
  EXPECT_EQ(*setup("pi").remove(file, false), Removed::restored);
  EXPECT_EQ(bytes(file.path), "export default 1\n");

  const auto link = config("claude");
  put(home_ / "dotfiles.json", "{}");
  fs::create_directories(link.path.parent_path());
  fs::create_symlink(home_ / "dotfiles.json", link.path);
  EXPECT_THAT(setup("claude").write(link, true).error().message, HasSubstr("symbolic link"));
  EXPECT_EQ(bytes(home_ / "dotfiles.json"), "{}");
}

TEST_F(SetupTest, a_broken_file_is_named_and_left_as_it_is) {
  const auto file = config("claude");
  put(file.path, "{\"env\": ");
  const auto refused = setup("claude").write(file, true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("settings.json: the file is not a JSON object"));
  EXPECT_EQ(bytes(file.path), "{\"env\": ");
  EXPECT_EQ(*setup("claude").remove(file, false), Removed::nothing);
}

TEST_F(SetupTest, an_extension_of_ours_goes_even_without_the_record_of_it) {
  const auto file = config("pi");
  ASSERT_TRUE(setup("pi").write(file, false));
  fs::remove_all(home_ / "state");
  ASSERT_TRUE(setup("pi").write(file, false)) << "it is ours, so it may be written anew";
  fs::remove_all(home_ / "state");
  EXPECT_EQ(*setup("pi").remove(file, false), Removed::deleted);
  EXPECT_FALSE(fs::exists(file.path));
}

}  // namespace
}  // namespace hearth::cli
