#include "cli/utf8.h"

#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

using namespace std::string_view_literals;

TEST(InvalidUtf8, passes_text_of_every_width) {
  EXPECT_FALSE(invalid_utf8(""));
  EXPECT_FALSE(invalid_utf8("a\0b naïve 東京 👩🏽‍🚀 \U0010FFFF"sv));
}

TEST(InvalidUtf8, names_the_first_bad_byte) {
  EXPECT_EQ(invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(invalid_utf8("\x80"), 0u);          // a continuation without a lead
  EXPECT_EQ(invalid_utf8("a\xc3"), 1u);         // cut short
  EXPECT_EQ(invalid_utf8("\xc0\xaf"), 0u);      // overlong
  EXPECT_EQ(invalid_utf8("\xe0\x80\x80"), 0u);  // overlong
  EXPECT_EQ(invalid_utf8("\xed\xa0\x80"), 0u);  // a surrogate
  EXPECT_EQ(invalid_utf8("\xf4\x90\x80\x80"), 0u);
}

}  // namespace
}  // namespace hearth::cli
