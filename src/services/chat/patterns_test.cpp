#include "services/chat/patterns.h"

#include <gtest/gtest.h>

#include <random>

namespace hearth::services {
namespace {

Patterns patterns(std::initializer_list<std::string_view> texts) {
  Patterns out;
  int kind = 0;
  for (const auto text : texts) out.add(text, kind++);
  return out;
}

/// What leaves when `text` arrives in pieces of `size` bytes; then the match that ended it.
std::pair<std::string, std::string> run(const Patterns& wanted, std::string_view text,
                                        std::size_t size) {
  std::string out, held;
  for (std::size_t at = 0; at < text.size(); at += size) {
    held += text.substr(at, size);
    if (const auto match = wanted.first(held)) {
      return {out + held.substr(0, match->begin), std::string(match->text)};
    }
    const auto free = held.size() - wanted.held_back(held);
    out += held.substr(0, free);
    held.erase(0, free);
  }
  return {out + held, ""};
}

using Outcome = std::pair<std::string, std::string>;

TEST(Patterns, are_found_across_pushes) {
  for (const std::size_t size : {1, 2, 3, 7, 100}) {
    EXPECT_EQ(run(patterns({"END"}), "one two END three", size), (Outcome{"one two ", "END"}))
        << size;
  }
}

TEST(Patterns, what_only_looked_like_one_is_given_back) {
  EXPECT_EQ(run(patterns({"###\n"}), "a ### b ##", 1), (Outcome{"a ### b ##", ""}));
}

TEST(Patterns, a_beginning_is_held_back_until_it_is_settled) {
  const auto end = patterns({"</s>"});
  EXPECT_EQ(end.held_back("hi <"), 1u);
  EXPECT_EQ(end.held_back("hi </"), 2u);
  EXPECT_EQ(end.held_back("hi </b>"), 0u);
}

TEST(Patterns, the_match_that_ends_first_wins) {
  EXPECT_EQ(run(patterns({"abcd", "c"}), "xabcdy", 1).second, "c");
  EXPECT_EQ(run(patterns({"abcd", "c"}), "xabcdy", 6).second, "c");
}

TEST(Patterns, of_two_that_end_together_the_longest_wins) {
  EXPECT_EQ(run(patterns({"b", "ab"}), "xab", 1), (Outcome{"x", "ab"}));
}

TEST(Patterns, the_longest_at_the_start_is_told_and_what_may_become_one) {
  const auto both = patterns({"<t", "<tool>"});
  EXPECT_EQ(both.at_start("<tool>x")->text, "<tool>");
  EXPECT_EQ(both.at_start("<tool")->text, "<t");
  EXPECT_FALSE(both.at_start("x<t"));
  EXPECT_TRUE(both.may_start("<too"));
  EXPECT_FALSE(both.may_start("<tool>"));
}

TEST(Patterns, the_cut_does_not_depend_on_how_text_arrives) {
  std::mt19937 random(7);
  const auto word = [&](int most) {
    std::string text;
    for (int n = 1 + int(random() % most); n > 0; --n) text += char('a' + random() % 2);
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string a = word(5), b = word(5), c = word(3);
    const auto wanted = patterns({a, b, c});
    const std::string text = word(30);
    EXPECT_EQ(run(wanted, text, 1), run(wanted, text, 1 + random() % 8)) << text;
  }
}

}  // namespace
}  // namespace hearth::services
