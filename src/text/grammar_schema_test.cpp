#include "text/grammar_schema.h"

#include <gmock/gmock.h>

#include "text/ebnf.h"
#include "text/small_tokenizer.h"

namespace hearth::text {
namespace {

using ::testing::HasSubstr;
using testing::SmallTokenizer;
using testing::takes;

class SchemaTest : public ::testing::Test {
 protected:
  bool holds(const char* schema, std::string_view text, SchemaOptions options = {}) {
    auto matcher = schema_matcher(*grammars, Json::parse(schema), options);
    EXPECT_TRUE(matcher) << matcher.error().message;
    return matcher && takes(std::move(*matcher), text);
  }
  Error refusal(const char* schema) {
    const auto matcher = schema_matcher(*grammars, Json::parse(schema), {});
    EXPECT_FALSE(matcher) << schema;
    return matcher ? Error{} : matcher.error();
  }

  SmallTokenizer tokenizer;
  std::shared_ptr<const Grammars> grammars = testing::small_grammars(tokenizer);
};

TEST_F(SchemaTest, BlanksBetweenTokensAreFew) {
  const char* schema =
      R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})";
  EXPECT_TRUE(holds(schema, R"({"a":1})"));
  EXPECT_TRUE(holds(schema, "{\n  \"a\": 1\n}"));
  EXPECT_FALSE(holds(schema, "{     \"a\":1}"));
  EXPECT_FALSE(holds(schema, "{\n\n\"a\":1}"));
  EXPECT_FALSE(holds(schema, " {\"a\":1}"));
  EXPECT_FALSE(holds(schema, "{\"a\": 1}", {.any_whitespace = false}));
  EXPECT_TRUE(holds(schema, "{\"a\":1}", {.any_whitespace = false}));
}

TEST_F(SchemaTest, KeysComeInTheOrderOfTheSchema) {
  const char* schema =
      R"({"type":"object","properties":{"z":{"const":1},"a":{"const":2}},"required":["a","z"]})";
  EXPECT_TRUE(holds(schema, R"({"z":1,"a":2})"));
  EXPECT_FALSE(holds(schema, R"({"a":2,"z":1})"));
}

TEST_F(SchemaTest, NamedPropertiesAloneUnlessTheSchemaSaysOtherwise) {
  EXPECT_FALSE(holds(R"({"properties":{"a":{}}})", R"({"b":1})"));
  EXPECT_FALSE(holds(R"({"properties":{"a":{}}})", "5"));
  EXPECT_TRUE(holds(R"({"properties":{"a":{}},"additionalProperties":true})", R"({"b":1})"));
  EXPECT_TRUE(holds(R"({"type":"object"})", R"({"b":1})"));
  EXPECT_TRUE(holds(R"({"allOf":[{"properties":{"a":{}},"required":["a"]},
                                 {"properties":{"b":{}},"required":["b"]}]})",
                    R"({"a":1,"b":2})"));
}

TEST_F(SchemaTest, ReferencesResolveFromTheRoot) {
  const char* tags = R"({"type":"object","properties":{
      "tags":{"type":"array","items":{"type":"string","pattern":"^[\\w-]+$"}},
      "more":{"$ref":"#/properties/tags"}},"required":["more"]})";
  EXPECT_TRUE(holds(tags, R"({"more":["a-b"]})"));
  EXPECT_FALSE(holds(tags, R"({"more":["a b"]})"));
}

TEST_F(SchemaTest, PatternsAreSearchedFor) {
  EXPECT_TRUE(holds(R"({"type":"string","pattern":"\\d+"})", R"("a1b")"));
  EXPECT_FALSE(holds(R"({"type":"string","pattern":"\\d+"})", R"("ab")"));
}

TEST_F(SchemaTest, AKeyHasOneSpelling) {
  EXPECT_FALSE(holds(R"({"type":"object","properties":{"a":{"type":"integer"}},
                         "additionalProperties":{"type":"boolean"}})",
                     R"({"\u0061":true})"));
}

TEST_F(SchemaTest, WhatCannotBeHeldIsNamedWithItsPlace) {
  const std::pair<const char*, std::pair<const char*, const char*>> rows[] = {
      {R"({"properties":{"k":{"not":{"type":"string"}}}})", {"not", "/properties/k/not"}},
      {R"({"properties":{"k":{"type":"string","pattern":"[unclosed"}}})",
       {"pattern", "/properties/k/pattern"}},
      {R"({"properties":{"k":{"type":"string","pattern":"(?<=x)y"}}})",
       {"pattern", "/properties/k/pattern"}},
      {R"({"properties":{"k":{"$ref":"#/$defs/absent"}}})", {"$ref", "/properties/k/$ref"}},
      {R"({"type":"array","items":{"anyOf":[{"type":"null"},{"uniqueItems":true}]}})",
       {"uniqueItems", "/items/anyOf/1/uniqueItems"}},
      {R"({"properties":{"a/b":{"if":{},"then":{}}}})", {"if", "/properties/a~1b/if"}},
      {R"({"type":"object","additionalProperties":true,"minProperties":3})",
       {"minProperties", "/minProperties"}},
      {R"({"type":"number","multipleOf":0.01})", {"multipleOf", "/multipleOf"}},
      {R"({"type":"text"})", {"type", "/type"}},
  };
  for (const auto& [schema, expected] : rows) {
    const auto error = refusal(schema);
    EXPECT_EQ(error.code, ErrorCode::invalid_schema);
    EXPECT_EQ(error.param, expected.second) << schema;
    EXPECT_THAT(error.message, HasSubstr(std::string("\"") + expected.first + "\""));
  }
}

TEST_F(SchemaTest, OnlyObjectsAndBooleansAreSchemas) {
  for (const char* schema : {"5", "\"x\"", "[]", "null"}) {
    EXPECT_THAT(refusal(schema).message, HasSubstr("an object or a boolean")) << schema;
  }
  EXPECT_THAT(refusal("false").message, HasSubstr("nothing matches"));
  EXPECT_TRUE(holds("true", "[1]"));
}

TEST_F(SchemaTest, AnnotationsAndUnusedDefinitionsAreNoFault) {
  EXPECT_TRUE(holds(R"({"type":"integer","deprecated":true,"x-y":{"not":5},"format":"odd",
                        "$defs":{"d":{"not":{}}}})",
                    "12"));
}

TEST_F(SchemaTest, OptionsOfTheLibraryAreNoOnesToSet) {
  EXPECT_EQ(refusal(R"({"x-guidance":{"lenient":true},"type":"array","uniqueItems":true})").param,
            "/uniqueItems");
}

class EbnfTest : public SchemaTest {
 protected:
  bool accepts(const char* grammar, std::string_view text) {
    const auto lark = lark_of(grammar);
    EXPECT_TRUE(lark) << lark.error().message;
    if (!lark) return false;
    auto matcher = grammars->matcher(GrammarKind::lark, *lark);
    EXPECT_TRUE(matcher) << matcher.error().message << "\n" << *lark;
    return matcher && takes(std::move(*matcher), text);
  }
};

TEST_F(EbnfTest, RulesLiteralsClassesAndRepetitions) {
  const char* grammar = R"(root ::= greeting " " name{1,2} "!"?   # a comment
greeting ::= "hello" | 'hi'
name ::= [A-Z] [a-z]*
  | [^a-zA-Z\x20!]+ | "é\u00e8" ("-" .)+
)";
  EXPECT_TRUE(accepts(grammar, "hello Ann!"));
  EXPECT_TRUE(accepts(grammar, "hi AnnBob"));
  EXPECT_TRUE(accepts(grammar, "hi éè-x-y"));
  EXPECT_TRUE(accepts(grammar, "hi 42"));
  EXPECT_FALSE(accepts(grammar, "hello ann"));
  EXPECT_FALSE(accepts(grammar, "hello"));
}

TEST_F(EbnfTest, NoSentenceIsLostToTheLongestToken) {
  const char* grammar = "root ::= \"a\" inner \"c\"\ninner ::= \"b\" | \"bc\"";
  EXPECT_TRUE(accepts(grammar, "abc"));
  EXPECT_TRUE(accepts(grammar, "abcc"));
}

TEST_F(EbnfTest, Recursion) {
  const char* grammar = "root ::= \"(\" root \")\" | \"\"";
  EXPECT_TRUE(accepts(grammar, "((()))"));
  EXPECT_FALSE(accepts(grammar, "(()"));
}

TEST_F(EbnfTest, LarkIsTakenAsItIs) {
  EXPECT_TRUE(accepts("root: \"a\" | \"b\"", "b"));
  EXPECT_TRUE(accepts("start: X+\nX: /[0-9]/", "42"));
}

TEST_F(EbnfTest, FaultsNameTheLine) {
  const std::pair<const char*, const char*> rows[] = {
      {"root ::= missing", "line 1: the rule \"missing\" is not defined"},
      {"root ::= \"a\nb", "line 2: a literal is not closed"},
      {"root ::= [a", "class is not closed"},
      {"a ::= \"x\"", "no rule \"root\""},
      {"root ::= (\"a\"", "expected \")\""},
      {"root ::= \"a\"{x}", "expected a repetition"},
      {"root ::= \"\\q\"", "escape \"\\q\""},
      {"root ::= \"a\"\nroot ::= \"b\"", "defined twice"},
      {"root ::= (= \"a\")", "look-ahead"},
  };
  for (const auto& [grammar, words] : rows) {
    const auto lark = lark_of(grammar);
    ASSERT_FALSE(lark) << grammar;
    EXPECT_THAT(lark.error().message, HasSubstr(words));
    EXPECT_EQ(lark.error().code, ErrorCode::invalid_schema);
  }
}

}  // namespace
}  // namespace hearth::text
