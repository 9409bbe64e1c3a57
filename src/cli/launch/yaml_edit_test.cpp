#include "cli/launch/yaml_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

using ::testing::HasSubstr;

const YamlKeys keys{{"model", "openai/x"}, {"openai-api-key", "k"}};

TEST(YamlEdit, adds_a_block_and_hides_the_users_own_lines) {
  const std::string text =
      "# mine\nmodel: gpt\n\ndark-mode: true\n\"openai-api-key\": |\n  a\n  b\n";
  const auto out = set_yaml_keys(text, keys);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(*out,
            "# mine\n#hearth# model: gpt\n\ndark-mode: true\n#hearth# \"openai-api-key\": |\n"
            "#hearth#   a\n#hearth#   b\n# >>> hearth: `hearth launch aider --remove` takes this "
            "out again\nmodel: \"openai/x\"\nopenai-api-key: \"k\"\n# <<< hearth\n");
  EXPECT_EQ(remove_yaml_block(*out), text);
}

TEST(YamlEdit, a_file_without_a_last_newline_or_with_a_document_mark) {
  for (const std::string text : {"", "a: 1", "---\na: 1\n", "a:\n- 1\n- 2\n"}) {
    const auto out = set_yaml_keys(text, keys);
    ASSERT_TRUE(out) << text << out.error().message;
    EXPECT_THAT(*out, HasSubstr("\nmodel: \"openai/x\"\n"));
    EXPECT_THAT(remove_yaml_block(*out), ::testing::StartsWith(text));
  }
}

TEST(YamlEdit, refuses_what_it_cannot_add_to) {
  for (const std::string text :
       {"{a: 1}\n", "a: 1\n---\nb: 2\n", "[1]\n", "just words\n", "a: 1\n...\n"}) {
    const auto out = set_yaml_keys(text, keys);
    EXPECT_FALSE(out) << text << *out;
  }
}

}  // namespace
}  // namespace hearth::cli
