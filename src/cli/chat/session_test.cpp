#include "cli/chat/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"

namespace hearth::cli {
namespace {

using ::testing::HasSubstr;

struct SessionTest : ::testing::Test {
  fs::path file = fs::temp_directory_path() / ("session_test." + std::to_string(::getpid()));
  void TearDown() override { fs::remove(file); }
};

TEST_F(SessionTest, the_system_message_stands_first_and_outlives_a_clearing) {
  Session session;
  session.add_user("hi");
  session.set_system("be brief");
  session.add_assistant("hello");
  EXPECT_EQ(session.messages().dump(),
            R"([{"role":"system","content":"be brief"},{"role":"user","content":"hi"},)"
            R"({"role":"assistant","content":"hello"}])");
  session.clear();
  EXPECT_EQ(session.messages().dump(), R"([{"role":"system","content":"be brief"}])");
}

TEST_F(SessionTest, a_failed_turn_can_be_taken_back) {
  Session session;
  session.add_user("a");
  session.drop_last();
  session.drop_last();
  EXPECT_EQ(session.messages().dump(), "[]");
}

TEST_F(SessionTest, what_is_saved_comes_back) {
  Session session, again;
  session.set_system("s");
  session.add_user("naïve 東京");
  session.add_assistant("x\ny");
  ASSERT_TRUE(session.save(file, "m"));
  ASSERT_TRUE(again.load(file));
  EXPECT_EQ(again.messages(), session.messages());
  EXPECT_EQ((*read_json_file(file))["model"], "m");
}

TEST_F(SessionTest, a_file_of_another_kind_is_refused_and_changes_nothing) {
  Session session;
  session.add_user("kept");
  for (const char* text : {"[]", "{\"messages\": 3}", "{\"messages\": [{\"role\": \"user\"}]}",
                           "no", "{\"messages\": [{\"role\": \"root\", \"content\": \"x\"}]}"}) {
    std::ofstream(file) << text;
    const auto loaded = session.load(file);
    ASSERT_FALSE(loaded) << text;
    EXPECT_THAT(loaded.error().message, HasSubstr(file.string()));
  }
  EXPECT_EQ(session.turns(), 1u);
}

}  // namespace
}  // namespace hearth::cli
