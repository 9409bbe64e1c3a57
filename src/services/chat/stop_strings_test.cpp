#include "services/chat/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

namespace hearth::services {
namespace {

/// What leaves when `text` arrives in pieces of `size` bytes; then what stopped it.
std::pair<std::string, std::string> run(std::vector<std::string> stops, std::string_view text,
                                        std::size_t size) {
  StopStrings matcher(std::move(stops));
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += size) out += matcher.push(text.substr(at, size));
  out += matcher.finish();
  return {out, matcher.matched().value_or("")};
}

TEST(StopStrings, cuts_at_a_stop_string_across_pushes) {
  for (const std::size_t size : {1, 2, 3, 7, 100}) {
    EXPECT_EQ(run({"END"}, "one two END three", size),
              (std::pair<std::string, std::string>{"one two ", "END"}))
        << size;
  }
}

TEST(StopStrings, gives_back_what_only_looked_like_one) {
  EXPECT_EQ(run({"###\n"}, "a ### b ##", 1),
            (std::pair<std::string, std::string>{"a ### b ##", ""}));
}

TEST(StopStrings, never_lets_a_beginning_leave_before_it_is_settled) {
  StopStrings matcher({"</s>"});
  EXPECT_EQ(matcher.push("hi <"), "hi ");
  EXPECT_EQ(matcher.push("/"), "");
  EXPECT_EQ(matcher.push("b>"), "</b>");
  EXPECT_FALSE(matcher.matched());
}

TEST(StopStrings, the_match_that_ends_first_wins) {
  EXPECT_EQ(run({"abcd", "c"}, "xabcdy", 1).second, "c");
  EXPECT_EQ(run({"abcd", "c"}, "xabcdy", 6).second, "c");
}

TEST(StopStrings, of_two_that_end_together_the_longest_wins) {
  EXPECT_EQ(run({"b", "ab"}, "xab", 1), (std::pair<std::string, std::string>{"x", "ab"}));
}

TEST(StopStrings, drops_everything_after_a_match) {
  StopStrings matcher({"."});
  EXPECT_EQ(matcher.push("one. two"), "one");
  EXPECT_EQ(matcher.push(" three"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopStrings, the_cut_does_not_depend_on_how_text_arrives) {
  std::mt19937 random(7);
  const auto word = [&](int most) {
    std::string text;
    for (int n = 1 + int(random() % most); n > 0; --n) text += char('a' + random() % 2);
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::vector<std::string> stops{word(5), word(5), word(3)};
    const std::string text = word(30);
    EXPECT_EQ(run(stops, text, 1), run(stops, text, 1 + random() % 8)) << text;
  }
}

}  // namespace
}  // namespace hearth::services
