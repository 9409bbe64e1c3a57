// Masks against the reference that needs no grammar library: a finite language, written out.
#include "text/grammar.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>

#include "base/json.h"
#include "text/small_tokenizer.h"

namespace hearth::text {
namespace {

using testing::SmallTokenizer;

using Language = std::set<std::string>;

class GrammarTest : public ::testing::Test {
 protected:
  SmallTokenizer tokenizer;
  std::shared_ptr<const Grammars> grammars =
      *Grammars::make(tokenizer, {tokenizer.end()}, tokenizer.vocab_size() + 5);

  std::set<TokenId> allowed(Matcher& matcher) {
    std::vector<std::uint32_t> words(grammars->mask_words());
    EXPECT_TRUE(matcher.mask(words));
    std::set<TokenId> ids;
    for (int id = 0; id < grammars->vocab_size(); ++id) {
      if (words[id / 32] >> (id % 32) & 1) ids.insert(id);
    }
    return ids;
  }

  /// Tokens that lead from `prefix` to a prefix of a sentence; the end where it is one.
  std::set<TokenId> expected(const Language& language, const std::string& prefix) {
    std::set<TokenId> ids;
    if (language.contains(prefix)) ids.insert(tokenizer.end());
    for (TokenId id = 0; id < tokenizer.marker(); ++id) {
      const std::string longer = prefix + grammars->bytes(id);
      const auto at = language.lower_bound(longer);
      if (at != language.end() && at->starts_with(longer)) ids.insert(id);
    }
    return ids;
  }

  /// Holds every state that tokens can reach against the language.
  void check(GrammarKind kind, const std::string& grammar, const Language& language) {
    SCOPED_TRACE(grammar);
    auto start = grammars->matcher(kind, grammar);
    ASSERT_TRUE(start) << start.error().message;
    std::deque<std::pair<std::string, Matcher>> open;
    open.emplace_back("", std::move(*start));
    std::set<std::string> seen;
    while (!open.empty()) {
      auto [prefix, matcher] = std::move(open.front());
      open.pop_front();
      if (!seen.insert(prefix).second) continue;
      const auto ids = allowed(matcher);
      EXPECT_EQ(ids, expected(language, prefix)) << "after " << prefix;
      for (const TokenId id : ids) {
        if (id == tokenizer.end()) continue;
        auto next = matcher.copy();
        ASSERT_TRUE(next);
        ASSERT_TRUE(next->accept(id));
        open.emplace_back(prefix + grammars->bytes(id), std::move(*next));
      }
    }
    for (const auto& sentence : language) EXPECT_TRUE(seen.contains(sentence)) << sentence;
  }
};

TEST_F(GrammarTest, MasksOfARegexEqualTheLanguage) {
  check(GrammarKind::regex, "a(b|bc|ca)?", {"a", "ab", "abc", "aca"});
  check(GrammarKind::regex, "[ab]{2}1?2",
        {"aa2", "ab2", "ba2", "bb2", "aa12", "ab12", "ba12", "bb12"});
  check(GrammarKind::regex, "é|ü", {"é", "ü"});
}

TEST_F(GrammarTest, MasksOfLarkEqualTheLanguage) {
  check(GrammarKind::lark, "start: CHOICE\nCHOICE: \"ab\" | \"abc\" | \"a\\\"b\"",
        {"ab", "abc", "a\"b"});
  check(GrammarKind::lark, "start: \"a\" inner \"c\"\ninner: \"b\" | \"b\" \"c\"", {"abc", "abcc"});
}

TEST_F(GrammarTest, MasksOfASchemaEqualTheLanguage) {
  const std::string compact = R"("x-guidance":{"whitespace_flexible":false})";
  check(GrammarKind::json_schema, "{" + compact + R"(,"enum":["ab", "a\"b", true, null, 12]})",
        {R"("ab")", R"("a\"b")", "true", "null", "12"});
  check(GrammarKind::json_schema,
        "{" + compact +
            R"(,"type":"object","properties":{"b":{"const":1},"a":{"type":"boolean"}},)" +
            R"("required":["b"],"additionalProperties":false})",
        {R"({"b":1})", R"({"b":1,"a":true})", R"({"b":1,"a":false})"});
}

TEST_F(GrammarTest, AMarkerIsATokenOfItsOwn) {
  auto matcher = grammars->matcher(GrammarKind::lark,
                                   fmt::format("start: \"a\" <[{}]> \"b\"", tokenizer.marker()));
  ASSERT_TRUE(matcher) << matcher.error().message;
  EXPECT_EQ(allowed(*matcher), std::set<TokenId>{'a'});
  ASSERT_TRUE(matcher->accept('a'));
  EXPECT_EQ(allowed(*matcher), std::set<TokenId>{tokenizer.marker()});
  ASSERT_TRUE(matcher->accept(tokenizer.marker()));
  EXPECT_EQ(allowed(*matcher), std::set<TokenId>{'b'});
}

TEST_F(GrammarTest, TextNeverHoldsAMarkerAsAToken) {
  auto matcher = grammars->matcher(GrammarKind::regex, "[^x]*");
  ASSERT_TRUE(matcher);
  const auto ids = allowed(*matcher);
  EXPECT_FALSE(ids.contains(tokenizer.marker()));
  EXPECT_TRUE(ids.contains('<'));
  EXPECT_TRUE(ids.contains(tokenizer.end()));
}

TEST_F(GrammarTest, AnObjectIsCompleteAtItsBrace) {
  auto matcher = grammars->matcher(GrammarKind::json_schema, R"({"type":"object"})");
  ASSERT_TRUE(matcher);
  ASSERT_TRUE(matcher->accept('{'));
  EXPECT_FALSE(matcher->complete());
  EXPECT_FALSE(*matcher->may_end());
  ASSERT_TRUE(matcher->accept('}'));
  EXPECT_TRUE(matcher->complete());
  EXPECT_EQ(allowed(*matcher), std::set<TokenId>{tokenizer.end()});
}

TEST_F(GrammarTest, WhatIsNotAllowedIsAnErrorOfItsRow) {
  auto matcher = grammars->matcher(GrammarKind::regex, "ab");
  auto copy = matcher->copy();
  EXPECT_FALSE(matcher->accept('x'));
  EXPECT_FALSE(matcher->accept('a'));
  EXPECT_TRUE(copy->accept('a'));
}

TEST_F(GrammarTest, WordsOfTheLibraryAreTold) {
  const auto broken = grammars->matcher(GrammarKind::regex, "[unclosed");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::invalid_schema);
  EXPECT_FALSE(broken.error().message.empty());
}

}  // namespace
}  // namespace hearth::text
