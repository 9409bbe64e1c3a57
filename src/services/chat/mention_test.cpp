#include "services/chat/mention.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth::services {
namespace {

/// What follows `text`, however it was cut.
bool mentioned(std::string_view text) {
  Mentions whole, cut;
  whole.add(text);
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && (text[end] & 0xc0) == 0x80) ++end;
    cut.add(text.substr(i, end - i));
    i = end;
  }
  EXPECT_EQ(whole.next(), cut.next()) << text;
  return whole.next();
}

TEST(Mentions, a_line_of_its_own_or_no_blank_before_it_is_a_marker) {
  for (const char* text : {"", "text", "Done.\n", "Done.\n\n", "Done.\n  ", "`code`\n", "a`b`c"}) {
    EXPECT_FALSE(mentioned(text)) << text;
  }
}

TEST(Mentions, prose_quotes_and_code_speak_of_it) {
  for (const char* text :
       {"the ", "say \"", "say “", "(see '", "the `", "``", "```xml\n", "```\na\n\nb\n", "`a\nb"}) {
    EXPECT_TRUE(mentioned(text)) << text;
  }
}

TEST(Mentions, code_ends_with_its_backticks_and_a_stray_one_with_its_paragraph) {
  EXPECT_FALSE(mentioned("```\ncode\n```\n"));
  EXPECT_FALSE(mentioned("`` a ` b ``\n"));
  EXPECT_TRUE(mentioned("`` a ` b"));
  EXPECT_FALSE(mentioned("a stray ` here\n\nnext\n"));
}

}  // namespace
}  // namespace hearth::services
