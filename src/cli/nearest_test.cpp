#include "cli/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace hearth::cli {
namespace {

const std::vector<std::string> verbs{"serve", "generate", "chat", "scan", "doctor"};

TEST(EditDistance, counts_swapped_neighbours_once) {
  EXPECT_EQ(edit_distance("serve", "serve"), 0);
  EXPECT_EQ(edit_distance("serve", "sevre"), 1);
  EXPECT_EQ(edit_distance("port", "ports"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

TEST(Nearest, finds_a_mistyped_name_and_leaves_strangers_alone) {
  EXPECT_EQ(nearest("sevre", verbs), "serve");
  EXPECT_EQ(nearest("chta", verbs), "chat");
  EXPECT_FALSE(nearest("transcribe", verbs));
}

TEST(Nearest, takes_the_beginning_of_a_name_for_it) {
  EXPECT_EQ(nearest("gener", verbs), "generate");
}

TEST(DidYouMean, says_nothing_when_nothing_is_near) {
  EXPECT_EQ(did_you_mean("docter", verbs), "; did you mean doctor?");
  EXPECT_EQ(did_you_mean("zzzzzz", verbs), "");
}

}  // namespace
}  // namespace hearth::cli
