#include "cli/launch/json_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hearth::cli {
namespace {

using Path = std::vector<std::string>;
using ::testing::HasSubstr;

std::string set(std::string_view text, const Path& path, const Json& value) {
  const auto out = set_json_member(text, path, value);
  return out ? *out : "error: " + out.error().message;
}

TEST(JsonEdit, makes_a_file_out_of_nothing) {
  EXPECT_EQ(set("", {"env", "URL"}, "x"), "{\n  \"env\": {\n    \"URL\": \"x\"\n  }\n}\n");
  EXPECT_EQ(set("{}", {"a"}, 1), "{\n  \"a\": 1\n}");
}

TEST(JsonEdit, leaves_comments_order_and_layout_as_they_are) {
  const std::string text =
      "// mine\n{\n    \"b\": [1, 2],  // two\n    /* env */ \"env\": {\"A\": \"1\"},\n}\n";
  EXPECT_EQ(set(text, {"env", "B"}, "2"),
            "// mine\n{\n    \"b\": [1, 2],  // two\n    /* env */ \"env\": {\"B\": \"2\", \"A\": "
            "\"1\"},\n}\n");
  EXPECT_EQ(set(text, {"env", "A"}, "2"),
            "// mine\n{\n    \"b\": [1, 2],  // two\n    /* env */ \"env\": {\"A\": \"2\"},\n}\n");
  EXPECT_EQ(set(text, {"model"}, "m"),
            "// mine\n{\n    \"model\": \"m\",\n    \"b\": [1, 2],  // two\n    /* env */ \"env\": "
            "{\"A\": \"1\"},\n}\n");
}

TEST(JsonEdit, a_key_may_stand_in_a_string_or_in_a_comment) {
  const std::string text = "{\"x\": \"{\\\"a\\\": 1}\", // \"a\": 2,\n \"a\": 3}";
  EXPECT_EQ(json_member(text, Path{"a"}), "3");
  EXPECT_EQ(set(text, {"a"}, 4), "{\"x\": \"{\\\"a\\\": 1}\", // \"a\": 2,\n \"a\": 4}");
}

TEST(JsonEdit, removes_a_member_with_its_comma) {
  EXPECT_EQ(remove_json_member("{\"a\": 1, \"b\": 2}", Path{"a"}), "{\"b\": 2}");
  EXPECT_EQ(remove_json_member("{\"a\": 1, \"b\": 2}", Path{"b"}), "{\"a\": 1}");
  EXPECT_EQ(remove_json_member("{\n  \"a\": 1\n}\n", Path{"a"}), "{}\n");
  EXPECT_EQ(remove_json_member("{\"a\": {\"b\": 1,},}", Path{"a", "b"}), "{\"a\": {},}");
  EXPECT_EQ(remove_json_member("{\"a\": 1}", Path{"b"}), "{\"a\": 1}");
}

TEST(JsonEdit, refuses_what_is_no_object_and_says_where) {
  EXPECT_THAT(set("[1]", {"a"}, 1), HasSubstr("not a JSON object"));
  EXPECT_THAT(set("{\"a\": 1} x", {"a"}, 1), HasSubstr("not a JSON object"));
  EXPECT_THAT(set("{\"a\": tru}", {"a"}, 1), HasSubstr("not a JSON object"));
  EXPECT_THAT(set("{\n\"env\": 3}", {"env", "a"}, 1), HasSubstr("line 2: `env` is no object"));
}

TEST(JsonEdit, what_is_set_and_taken_out_again_means_what_it_meant) {
  std::mt19937 random(7);
  const std::vector<std::string> texts{
      "{}", "{ }\n", "{\"a\": {\"b\": {}}}", "{\n\t\"a\": {\n\t\t\"c\": [{}, \"}\"]\n\t}\n}\n",
      "{\"z\": null, \"a\": {\"d\": -1.5e3}, \"y\": \"\\\\\\\"\"}"};
  const std::vector<Path> paths{{"a", "b", "new"}, {"new"}, {"a", "new"}, {"q", "r", "s"}};
  for (int i = 0; i < 200; ++i) {
    const auto& text = texts[random() % texts.size()];
    const auto& path = paths[random() % paths.size()];
    const auto changed = set(text, path, Json{{"k", {1, 2}}});
    const auto parsed = Json::parse(changed, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << changed;
    ASSERT_EQ(json_member(changed, path).value_or(""), json_member(changed, path));
    auto back = remove_json_member(changed, path);
    for (auto parent = Path(path.begin(), path.end() - 1); !parent.empty(); parent.pop_back()) {
      if (!json_member(text, parent)) back = remove_json_member(back, parent);
    }
    EXPECT_EQ(Json::parse(back), Json::parse(text)) << changed << "\n" << back;
  }
}

}  // namespace
}  // namespace hearth::cli
