#include "services/chat/constraint.h"

#include <gmock/gmock.h>

#include "services/chat/answer_mask.h"
#include "services/chat/constraint_fields.h"
#include "services/chat/protocol.h"
#include "services/chat/scripted_model.h"
#include "services/chat/told_constraint.h"

namespace hearth::services {
namespace {

using testing::ByteTokenizer;
using ::testing::HasSubstr;
using text::GrammarKind;
using Ids = std::set<text::TokenId>;

constexpr auto end_id = ByteTokenizer::end;

class AnswerMaskTest : public ::testing::Test {
 protected:
  text::Matcher matcher(const char* regex) {
    return std::move(*grammars->matcher(GrammarKind::regex, regex));
  }
  std::unique_ptr<AnswerMask> mask(ReasoningRule reasoning, TextRule text = {}) {
    return std::make_unique<AnswerMask>(grammars, std::move(reasoning), std::move(text));
  }
  /// None: all may come.
  std::optional<Ids> allowed(AnswerMask& mask) {
    const auto words = mask.compute();
    EXPECT_TRUE(words) << words.error().message;
    if (!words || words->empty()) return std::nullopt;
    Ids ids;
    for (text::TokenId id = 0; id <= end_id; ++id) {
      if (engine::mask_allows(*words, id)) ids.insert(id);
    }
    return ids;
  }
  void say(AnswerMask& mask, std::string_view text) {
    for (const unsigned char byte : text) {
      const auto ids = allowed(mask);
      EXPECT_TRUE(!ids || ids->contains(byte)) << "\"" << byte << "\" of " << text;
      EXPECT_TRUE(mask.accept(byte));
    }
  }
  static ReasoningRule thinking(std::optional<int> budget = {}) {
    return {.starts_inside = true,
            .closing = "</t>",
            .closing_ids = {'<', '/', 't', '>'},
            .budget = budget};
  }

  ByteTokenizer tokenizer;
  std::shared_ptr<const text::Grammars> grammars =
      *text::Grammars::make(tokenizer, {end_id}, end_id + 1);
};

TEST_F(AnswerMaskTest, TextIsHeldFromItsStart) {
  const auto held = mask({}, {.matcher = matcher("ab?")});
  EXPECT_EQ(allowed(*held), Ids{'a'});
  say(*held, "a");
  EXPECT_EQ(allowed(*held), (Ids{'b', end_id}));
  EXPECT_FALSE(held->complete());
  say(*held, "b");
  EXPECT_TRUE(held->complete());
}

TEST_F(AnswerMaskTest, ReasoningIsFreeAndTheTextAfterItIsHeld) {
  const auto held = mask(thinking(), {.matcher = matcher("ab")});
  EXPECT_EQ(allowed(*held), std::nullopt);
  say(*held, "well < </ t </t>");
  EXPECT_FALSE(held->complete());
  EXPECT_EQ(allowed(*held), Ids{'a'});
}

TEST_F(AnswerMaskTest, TheModelMayOpenItsReasoningFirst) {
  auto rule = thinking();
  rule.starts_inside = false;
  rule.opening = {'@'};
  const auto opened = mask(rule, {.matcher = matcher("ab")});
  EXPECT_EQ(allowed(*opened), (Ids{'@', 'a'}));
  say(*opened, "@hm</t>");
  EXPECT_EQ(allowed(*opened), Ids{'a'});
  const auto not_opened = mask(rule, {.matcher = matcher("a@")});
  say(*not_opened, "a@");
  EXPECT_TRUE(not_opened->complete());
}

TEST_F(AnswerMaskTest, ASpentBudgetForcesTheClosing) {
  const auto held = mask(thinking(3), {.matcher = matcher("ab")});
  say(*held, "abc");
  EXPECT_EQ(allowed(*held), Ids{'<'});
  say(*held, "</t>");
  EXPECT_EQ(allowed(*held), Ids{'a'});
  const auto free = mask(thinking(1));
  say(*free, "x</t>");
  EXPECT_EQ(allowed(*free), std::nullopt);
  EXPECT_FALSE(free->complete());
}

class CallTest : public AnswerMaskTest {
 protected:
  TextRule calls(bool one) {
    std::vector<CallOpening> openings;
    openings.push_back(
        {.text = "[call]", .after = std::make_shared<text::Matcher>(matcher("f\\(\\d\\)"))});
    openings.push_back({.text = "<raw>"});
    TextRule rule{.one_call = one};
    rule.trigger.emplace(grammars, std::move(openings));
    return rule;
  }
};

TEST_F(CallTest, ACallIsHeldOnceItBegins) {
  const auto held = mask({}, calls(false));
  say(*held, "free text [cal [call]");
  EXPECT_EQ(allowed(*held), Ids{'f'});
  say(*held, "f(7)");
  EXPECT_FALSE(held->complete());
  EXPECT_EQ(allowed(*held), std::nullopt);
  say(*held, "\n[call]");
  EXPECT_EQ(allowed(*held), Ids{'f'});
}

TEST_F(CallTest, TheOnlyCallEndsTheAnswer) {
  const auto held = mask({}, calls(true));
  say(*held, "[call]f(7)");
  EXPECT_TRUE(held->complete());
}

TEST_F(CallTest, AnOpeningThatCannotBeHeldIsRuledOut) {
  const auto held = mask({}, calls(false));
  say(*held, "<raw");
  const auto ids = allowed(*held);
  ASSERT_TRUE(ids);
  EXPECT_FALSE(ids->contains('>'));
  EXPECT_TRUE(ids->contains('<'));
}

TEST_F(CallTest, WithoutCallsTheirMarkupIsRuledOut) {
  const auto model = testing::scripted_model(nullptr);
  const auto body = Json::parse(R"({"messages":[{"role":"user","content":"hi"}],
      "tool_choice":"none","tools":[{"type":"function","function":{"name":"f"}}]})");
  const auto request = openai_chat.parse(body, "x").value();
  const auto format = output_format(*model, request, request.input, {});
  const auto none = answer_mask(*model, request, request.input, format, {}).value();
  auto& held = dynamic_cast<AnswerMask&>(*none);
  say(held, "Fine: <tool_cal> and {\"a\": 1} <tool_call");
  const auto ids = allowed(held);
  ASSERT_TRUE(ids);
  EXPECT_FALSE(ids->contains('>'));
  EXPECT_TRUE(ids->contains(' '));
}

Result<std::optional<Constraint>> read(const char* body) {
  return read_constraint(Json::parse(body));
}

TEST(ConstraintFields, TheFirstThatIsThereDecides) {
  EXPECT_EQ(read(R"({})").value(), std::nullopt);
  EXPECT_EQ(read(R"({"response_format":{"type":"text"},"guided_regex":null})").value(),
            std::nullopt);
  const auto all = read(R"({"guided_choice":["a"],"guided_regex":"r","structured_outputs":{},
      "response_format":{"type":"json_object"},"guided_grammar":"root ::= \"g\""})");
  EXPECT_EQ((*all)->kind, Constraint::Kind::grammar);
  const auto text = read(R"({"response_format":{"type":"text"},"guided_choice":["a","b"]})");
  EXPECT_EQ((*text)->choices, (std::vector<std::string>{"a", "b"}));
}

TEST(ConstraintFields, ASchemaWithItsOptions) {
  const auto found = read(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n",
      "schema":{"z":1,"a":2},"strict":true,"any_whitespace":false}}})");
  ASSERT_TRUE(found);
  EXPECT_TRUE((*found)->strict);
  EXPECT_FALSE((*found)->any_whitespace);
  EXPECT_EQ((*found)->schema.dump(), R"({"z":1,"a":2})");
  EXPECT_EQ((*found)->param, "response_format.json_schema.schema");
}

TEST(ConstraintFields, FaultsNameTheField) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"response_format":{"type":"xml"}})", "response_format"},
      {R"({"response_format":{"type":"json_schema"}})", "response_format.json_schema"},
      {R"({"response_format":{"type":"json_schema","json_schema":{"schema":5}}})",
       "response_format.json_schema.schema"},
      {R"({"response_format":{"type":"json_schema","json_schema":{"schema":{},"strict":1}}})",
       "response_format.json_schema.strict"},
      {R"({"guided_choice":[]})", "guided_choice"},
      {R"({"guided_choice":["a",5]})", "guided_choice"},
      {R"({"guided_regex":""})", "guided_regex"},
      {R"({"guided_grammar":5})", "guided_grammar"},
      {R"({"structured_outputs":"{"})", "structured_outputs"},
  };
  for (const auto& [body, param] : rows) {
    const auto found = read(body);
    ASSERT_FALSE(found) << body;
    EXPECT_EQ(found.error().param, param);
  }
}

TEST(ToldConstraint, ASystemMessageStandsInForTheGrammar) {
  Request request;
  text::Conversation chat;
  chat.messages = Json::parse(R"([{"role":"user","content":"hi"}])");
  request.input = chat;
  EXPECT_EQ(tell_constraint(request), "");
  request.constraint = Constraint{.kind = Constraint::Kind::json_schema, .schema = {{"const", 1}}};
  EXPECT_EQ(tell_constraint(request), "grammar not enforced: HEARTH_GRAMMAR=0");
  const auto& messages = std::get<text::Conversation>(request.input).messages;
  EXPECT_EQ(messages[0]["role"], "system");
  EXPECT_THAT(messages[0]["content"].get<std::string>(), HasSubstr(R"({"const":1})"));
}

}  // namespace
}  // namespace hearth::services
