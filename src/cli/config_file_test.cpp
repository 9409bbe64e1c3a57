#include "cli/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
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

TEST_F(ConfigFileTest, models_have_sections_of_their_own) {
  write(
      "[models.\"org/a\"]\ntemperature = 0.2\npin = true\n\n[models.b]\nbatch = 2\n"
      "[serve]\nbatch = 4\n");
  const auto config = read_config_file(path, true);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->find("serve", "batch")->values.front(), "4");
  EXPECT_EQ(config->find("serve", "temperature"), nullptr);
  ASSERT_EQ(config->models.size(), 2u);
  const auto& section = config->models[0].model == "org/a" ? config->models[0] : config->models[1];
  EXPECT_EQ(section.model, "org/a");
  ASSERT_EQ(section.values.size(), 2u);
  const auto said = std::ranges::find(section.values, "temperature", &ConfigValue::key);
  EXPECT_EQ(said->values.front(), "0.2");
  EXPECT_EQ(said->line, 2);
}

TEST_F(ConfigFileTest, a_value_where_a_models_section_belongs_is_refused_with_its_line) {
  write("[models]\ntiny = 5\n");
  const auto config = read_config_file(path, true);
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr("line 2: models.tiny is a value"));
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
