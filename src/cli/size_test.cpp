#include "cli/size.h"

#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

TEST(ParseSize, knows_decimal_and_binary_suffixes) {
  EXPECT_EQ(parse_size("12GB", SizeUnit::bytes), 12'000'000'000u);
  EXPECT_EQ(parse_size("8GiB", SizeUnit::bytes), 8ull << 30);
  EXPECT_EQ(parse_size("900MB", SizeUnit::bytes), 900'000'000u);
  EXPECT_EQ(parse_size("1.5 kib", SizeUnit::bytes), 1536u);
  EXPECT_EQ(parse_size("2g", SizeUnit::bytes), 2ull << 30);
}

TEST(ParseSize, a_bare_number_has_the_unit_of_its_flag) {
  EXPECT_EQ(parse_size("2", SizeUnit::gigabytes), 2'000'000'000u);
  EXPECT_EQ(parse_size("2", SizeUnit::gibibytes), 2ull << 30);
  EXPECT_EQ(parse_size("0", SizeUnit::gibibytes), 0u);
}

TEST(ParseSize, refuses_what_is_no_size) {
  for (const char* text : {"", "GB", "-1GB", "1XB", "1GB2", "inf", "nan", "1e30GB", "1,5GB"}) {
    EXPECT_FALSE(parse_size(text, SizeUnit::bytes)) << text;
  }
}

TEST(HumanSize, keeps_three_digits) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(999), "999 B");
  EXPECT_EQ(human_size(92'400'000), "92.4 MB");
  EXPECT_EQ(human_size(1'456'000'000), "1.46 GB");
  EXPECT_EQ(human_size(999'600), "1.00 MB");
  EXPECT_EQ(human_count(134'515'008), "135 M");
}

}  // namespace
}  // namespace hearth::cli
