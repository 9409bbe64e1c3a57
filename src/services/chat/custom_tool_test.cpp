#include "services/chat/custom_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::services {
namespace {

using ::testing::HasSubstr;

Json function_of(const Json& tool) {
  const auto made = custom_tool_function(tool, "tools[0]");
  EXPECT_TRUE(made) << made.error().message;
  return made ? (*made)["function"] : Json();
}

TEST(CustomTool, is_a_function_of_one_string) {
  const Json function = function_of({{"name", "run"}, {"description", "Runs it."}});
  EXPECT_EQ(function["name"], "run");
  EXPECT_EQ(function["description"], "Runs it.");
  EXPECT_EQ(function["parameters"]["properties"].dump(), R"({"input":{"type":"string"}})");
  EXPECT_FALSE(function.contains("strict"));
}

TEST(CustomTool, a_regular_expression_is_held_as_a_whole) {
  const Json grammar{{"syntax", "regex"}, {"definition", "a|b"}};
  Json flat = grammar;
  flat["type"] = "grammar";
  for (const Json& format : {Json{{"type", "grammar"}, {"grammar", grammar}}, flat}) {
    const Json function = function_of({{"name", "run"}, {"format", format}});
    EXPECT_EQ(function["parameters"]["properties"]["input"]["pattern"], "^(?:a|b)$");
    EXPECT_EQ(function["strict"], true);
  }
}

TEST(CustomTool, a_lark_grammar_is_told) {
  const Json format{{"type", "grammar"}, {"syntax", "lark"}, {"definition", "start: \"x\""}};
  const Json function = function_of({{"name", "run"}, {"format", format}});
  EXPECT_THAT(function["description"].get<std::string>(), HasSubstr("lark grammar:\nstart: \"x\""));
  EXPECT_FALSE(function.contains("strict"));
}

TEST(CustomTool, what_is_wrong_is_named) {
  const auto param = [](const Json& tool) {
    const auto made = custom_tool_function(tool, "tools[2].custom");
    return made ? std::string() : made.error().param;
  };
  EXPECT_EQ(param({{"description", "x"}}), "tools[2].custom.name");
  EXPECT_EQ(param({{"name", "x"}, {"format", {{"type", "json"}}}}), "tools[2].custom.format");
  const auto of = [](const Json& syntax, const Json& definition) {
    return Json{{"name", "x"},
                {"format", {{"type", "grammar"}, {"syntax", syntax}, {"definition", definition}}}};
  };
  EXPECT_EQ(param(of("ebnf", "a")), "tools[2].custom.format.syntax");
  EXPECT_EQ(param(of("regex", 3)), "tools[2].custom.format.definition");
}

TEST(CustomTool, text_goes_into_arguments_and_comes_out_again) {
  const std::string text = "say \"hi\"\n\\o/";
  EXPECT_EQ(custom_text(custom_arguments(text).dump()), text);
  EXPECT_EQ(custom_text("{\"other\":1}"), "{\"other\":1}");
}

}  // namespace
}  // namespace hearth::services
