#include "cli/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"

namespace hearth::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ConfigFileTest : ::testing::Test {
  fs::path path = fs::temp_directory_path() / ("config_test." + std::to_string(::getpid()));
  void TearDown() override { fs::remove_all(path); }
  void write(std::string_view text) { std::ofstream(path) << text; }
};

TEST_F(ConfigFileTest, values_keep_their_section_and_line) {
  write(
      "device = \"cpu\"\nbatch = 4\n\n[serve]\nport = 9000\nno-open = true\ntop-p = 0.9\n"
      "allowed-origins = [\"a\", \"b\"]\n");
  const auto config = read_config_file(path, true);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->find("chat", "device")->values.front(), "cpu");
  const auto* port = config->find("serve", "port");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->values.front(), "9000");
  EXPECT_EQ(port->line, 5);
  EXPECT_EQ(config->find("serve", "no-open")->values.front(), "true");
  EXPECT_EQ(config->find("serve", "top-p")->values.front(), "0.9");
  EXPECT_THAT(config->find("serve", "allowed-origins")->values, ElementsAre("a", "b"));
  EXPECT_EQ(config->find("chat", "port"), nullptr);
}

TEST_F(ConfigFileTest, a_missing_file_is_empty_unless_it_was_named) {
  const auto silent = read_config_file(path, false);
  ASSERT_TRUE(silent);
  EXPECT_TRUE(silent->values.empty());
  const auto named = read_config_file(path, true);
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::usage);
  EXPECT_THAT(named.error().message, HasSubstr(path.string()));
}

TEST_F(ConfigFileTest, an_error_of_form_names_file_and_line) {
  write("a = 1\nb = = 2\n");
  const auto config = read_config_file(path, false);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::usage);
  EXPECT_THAT(config.error().message, HasSubstr(path.string() + ", line 2: "));
}

TEST_F(ConfigFileTest, a_value_of_no_use_is_refused) {
  write("[serve]\nport = { x = 1 }\n");
  const auto table = read_config_file(path, false);
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().message, HasSubstr("line 2: port is a table"));
  write("when = 2020-01-01\n");
  EXPECT_FALSE(read_config_file(path, false));
}

TEST_F(ConfigFileTest, a_folder_in_its_place_is_an_error) {
  fs::create_directory(path);
  EXPECT_FALSE(read_config_file(path, false));
}

}  // namespace
}  // namespace hearth::cli
