#include "cli/terminal.h"

#include <gtest/gtest.h>

#include "cli/browser.h"
#include "cli/table.h"

namespace hearth::cli {
namespace {

TEST(Printable, leaves_text_and_drops_what_moves_the_cursor) {
  EXPECT_EQ(printable("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m\r\x07"), "[31mred[0m");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m naïve 東京"),
            "1m naïve 東京");
}

TEST(Colour, no_color_beats_force_and_force_beats_a_pipe) {
  EXPECT_EQ(Terminal(Environment::of({{"FORCE_COLOR", "1"}})).paint_out("x", Style::red),
            "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Terminal(Environment::of({{"FORCE_COLOR", "1"}, {"NO_COLOR", "1"}}))
                .paint_out("x", Style::red),
            "x");
  EXPECT_EQ(Terminal(Environment::of({{"TERM", "dumb"}})).paint_out("x", Style::red), "x");
}

TEST(Browser, opens_only_at_a_terminal_with_a_display) {
  const auto desk = Environment::of({{"DISPLAY", ":0"}});
  EXPECT_TRUE(browser_command(desk, true));
  EXPECT_FALSE(browser_command(desk, false));
  EXPECT_FALSE(
      browser_command(Environment::of({{"DISPLAY", ":0"}, {"SSH_CONNECTION", "x"}}), true));
  EXPECT_EQ(browser_command(Environment::of({{"BROWSER", "lynx"}}), true), "lynx");
#ifndef __APPLE__
  EXPECT_FALSE(browser_command(Environment(), true));
#endif
}

TEST(Table, columns_are_as_wide_as_their_widest_cell) {
  EXPECT_EQ(layout_table({{"NAME", "N"}, {"東京", "10"}, {"a", "7"}}, {false, true}),
            "NAME   N\n東京  10\na      7\n");
}

}  // namespace
}  // namespace hearth::cli
