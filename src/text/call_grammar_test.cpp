#include "text/call_grammar.h"

#include <gmock/gmock.h>

#include "text/small_tokenizer.h"

namespace hearth::text {
namespace {

using testing::SmallTokenizer;
using testing::takes;

class CallGrammarTest : public ::testing::Test {
 protected:
  static std::vector<CallableTool> tools() {
    const auto timer = Json::parse(R"({"type":"object","required":["minutes"],"properties":{
        "minutes":{"type":"integer"},"label":{"type":"string","minLength":1},
        "loud":{"enum":["yes","no"]}}})");
    return {{.name = "set_timer", .parameters = timer, .param = "tools[0].function.parameters"},
            {.name = "set", .param = "tools[1].function.parameters"}};
  }
  Result<Matcher> matcher(const char* family, bool parallel = true, std::string_view opened = {},
                          std::vector<CallableTool> given = tools()) {
    const Dialect& dialect = find_dialect("", family);
    EXPECT_EQ(dialect.name, family);
    const LarkWriter lark(*grammars, tokenizer, dialect.markers);
    auto rules = call_rules(lark, dialect, given, parallel, opened);
    if (!rules) return fail(rules.error());
    return grammars->matcher(GrammarKind::lark, "start: calls\n" + *rules);
  }
  bool accepts(const char* family, std::string_view text, bool parallel = true,
               std::string_view opened = {}) {
    auto made = matcher(family, parallel, opened);
    EXPECT_TRUE(made) << made.error().message;
    return made && takes(std::move(*made), text);
  }

  SmallTokenizer tokenizer;
  std::shared_ptr<const Grammars> grammars = testing::small_grammars(tokenizer);
};

constexpr std::string_view hermes_call =
    "<tool_call>\n{\"name\": \"set_timer\", \"arguments\": {\"minutes\": 4}}\n</tool_call>";
constexpr std::string_view other_call =
    "<tool_call>\n{\"name\": \"set\", \"arguments\": {}}\n</tool_call>";

TEST_F(CallGrammarTest, ArgumentsFollowTheSchemaOfTheirTool) {
  EXPECT_TRUE(accepts("hermes", hermes_call));
  EXPECT_TRUE(accepts("hermes", other_call));
  EXPECT_FALSE(accepts("hermes", ""));
  EXPECT_FALSE(accepts("hermes", "No."));
  EXPECT_FALSE(accepts(
      "hermes", "<tool_call>\n{\"name\": \"set\", \"arguments\": {\"minutes\": 4}}\n</tool_call>"));
  EXPECT_FALSE(
      accepts("hermes", "<tool_call>\n{\"name\": \"get\", \"arguments\": {}}\n</tool_call>"));
}

TEST_F(CallGrammarTest, SeveralCallsUnlessOneIsAskedFor) {
  const std::string two = fmt::format("{}\n{}", hermes_call, other_call);
  EXPECT_TRUE(accepts("hermes", two));
  EXPECT_FALSE(accepts("hermes", two, false));
  EXPECT_TRUE(accepts("hermes", hermes_call, false));
}

TEST_F(CallGrammarTest, AnOpenedCallGoesOnBehindItsOpening) {
  EXPECT_TRUE(accepts("hermes", hermes_call.substr(11), false, "<tool_call>"));
  EXPECT_FALSE(accepts("hermes", hermes_call, false, "<tool_call>"));
}

TEST_F(CallGrammarTest, ParametersBetweenMarkers) {
  const auto call = [](std::string_view parameters) {
    return fmt::format("<tool_call>\n<function=set_timer>\n{}</function>\n</tool_call>",
                       parameters);
  };
  const std::string minutes = "<parameter=minutes>\n4\n</parameter>\n";
  EXPECT_TRUE(accepts("qwen_xml", call(minutes)));
  EXPECT_TRUE(accepts("qwen_xml", call(minutes + "<parameter=label>\na < b\n</parameter>\n"
                                                 "<parameter=loud>\nyes\n</parameter>\n")));
  EXPECT_TRUE(accepts("qwen_xml", call(minutes + "<parameter=loud>\nno\n</parameter>\n")));
  EXPECT_FALSE(accepts("qwen_xml", call("")));
  EXPECT_FALSE(accepts("qwen_xml", call("<parameter=minutes>\nfour\n</parameter>\n")));
  EXPECT_FALSE(accepts("qwen_xml", call(minutes + "<parameter=loud>\nmaybe\n</parameter>\n")));
  EXPECT_FALSE(accepts("qwen_xml", call(minutes + "<parameter=label>\n\n</parameter>\n")));
}

TEST_F(CallGrammarTest, KeysAndValuesAsPythonAndAsGemma) {
  const auto lfm = [](std::string_view arguments) {
    return fmt::format("<|tool_call_start|>[set_timer({})]<|tool_call_end|>", arguments);
  };
  EXPECT_TRUE(accepts("lfm", lfm("minutes=4")));
  EXPECT_TRUE(accepts("lfm", lfm("minutes=4, label=\"a\", loud=\"no\"")));
  EXPECT_FALSE(accepts("lfm", lfm("minutes=4, label=\"\"")));
  EXPECT_FALSE(accepts("lfm", lfm("label=\"a\"")));
  const auto gemma = [](std::string_view arguments) {
    return fmt::format("<|tool_call>call:set_timer{{{}}}<tool_call|>", arguments);
  };
  EXPECT_TRUE(accepts("gemma", gemma("minutes:4")));
  EXPECT_TRUE(accepts("gemma", gemma("minutes:4,label:<|\"|>a \"b\"<|\"|>,loud:<|\"|>yes<|\"|>")));
  EXPECT_FALSE(accepts("gemma", gemma("minutes:<|\"|>4<|\"|>")));
  EXPECT_FALSE(accepts("gemma", gemma("minutes:4,loud:<|\"|>maybe<|\"|>")));
}

TEST_F(CallGrammarTest, ListsInGemmasForm) {
  const auto schema = Json::parse(R"({"type":"object","required":["v"],"properties":{
      "v":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2}}})");
  auto made = matcher("gemma", false, {}, {{.name = "f", .parameters = schema}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(
      takes(*made->copy(), "<|tool_call>call:f{v:[<|\"|>a<|\"|>,<|\"|>b<|\"|>]}<tool_call|>"));
  EXPECT_FALSE(takes(*made->copy(), "<|tool_call>call:f{v:[]}<tool_call|>"));
  EXPECT_FALSE(takes(*made->copy(), "<|tool_call>call:f{v:[1]}<tool_call|>"));
}

TEST_F(CallGrammarTest, EveryDialectCanForceACall) {
  for (const Dialect* dialect : all_dialects()) {
    for (const bool held : {true, false}) {
      auto given = tools();
      for (auto& tool : given) tool.held = held;
      const LarkWriter lark(*grammars, tokenizer, dialect->markers);
      auto rules = call_rules(lark, *dialect, given, true);
      ASSERT_TRUE(rules) << dialect->name << ": " << rules.error().message;
      const auto made = grammars->matcher(GrammarKind::lark, "start: calls\n" + *rules);
      EXPECT_TRUE(made) << dialect->name << ": " << made.error().message << "\n" << *rules;
    }
  }
}

TEST_F(CallGrammarTest, WhatIsHeldReadsBackAsTheCall) {
  const std::string text =
      "<tool_call>\n<function=set_timer>\n<parameter=minutes>\n4\n</parameter>\n"
      "<parameter=label>\n2025\n</parameter>\n</function>\n</tool_call>";
  ASSERT_TRUE(accepts("qwen_xml", text));
  const Json tool{{"function", {{"name", "set_timer"}, {"parameters", tools()[0].parameters}}}};
  const auto scan =
      find_dialect("", "qwen_xml").scan(text, ToolSet(Json::array({tool})), Ending::ended);
  ASSERT_EQ(scan.calls.size(), 1u);
  EXPECT_EQ(Json::parse(scan.calls[0].arguments), Json::parse(R"({"minutes":4,"label":"2025"})"));
}

TEST_F(CallGrammarTest, WhatCannotBeHeldNamesToolAndKeyword) {
  auto given = tools();
  given[1].parameters = Json::parse(R"({"type":"object","properties":{"k":{"not":{}}}})");
  for (const char* family : {"hermes", "qwen_xml"}) {
    const auto made = matcher(family, true, {}, given);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().param, "tools[1].function.parameters/properties/k/not");
    EXPECT_THAT(made.error().message, ::testing::HasSubstr("tool \"set\""));
  }
}

}  // namespace
}  // namespace hearth::text
