#include "cli/chat/repl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>

#include "base/file.h"

namespace hearth::cli {
namespace {

using ::testing::ElementsAre;

/// Lines from a list; "^C" is an interrupt.
class Script : public LineEditor {
 public:
  explicit Script(std::deque<std::string> lines) : lines_(std::move(lines)) {}
  Line read(const std::string&) override {
    if (lines_.empty()) return {Line::Kind::end, ""};
    const std::string line = lines_.front();
    lines_.pop_front();
    if (line == "^C") return {Line::Kind::interrupted, ""};
    return {Line::Kind::text, line};
  }
  void remember(const std::string& entry) override { history.push_back(entry); }
  std::vector<std::string> history;

 private:
  std::deque<std::string> lines_;
};

struct ReplTest : ::testing::Test {
  fs::path folder = fs::temp_directory_path() / ("repl_test." + std::to_string(::getpid()));
  Terminal terminal{Environment()};
  std::vector<std::string> asked;  // last message of each request
  std::size_t longest = 0;         // messages of the longest request
  std::vector<std::string> history;
  int failed = 0;

  void TearDown() override { fs::remove_all(folder); }

  void talk(std::deque<std::string> lines) {
    Script script(std::move(lines));
    Repl repl(terminal, script,
              [this](const Json& messages) -> Result<std::string> {
                const auto last = messages.back()["content"].get<std::string>();
                if (last == "fail") return fail(ErrorCode::context_overflow, "too long");
                if (last == "stop") return fail(ErrorCode::cancelled, "stopped");
                asked.push_back(last);
                longest = std::max(longest, messages.size());
                return "re: " + last;
              },
              {.model = "m", .sessions = folder / "sessions"});
    failed = repl.run();
    history = script.history;
  }
};

TEST_F(ReplTest, every_line_is_a_message_of_one_conversation) {
  talk({"one", "  ", "two"});
  EXPECT_THAT(asked, ElementsAre("one", "two"));
  EXPECT_EQ(longest, 3u);
  EXPECT_THAT(history, ElementsAre("one", "two"));
}

TEST_F(ReplTest, three_quotes_hold_several_lines) {
  talk({"\"\"\"", "a", "", "b", "\"\"\"", "\"\"\"x\"\"\"", "\"\"\"open", "^C", "end"});
  EXPECT_THAT(asked, ElementsAre("a\n\nb", "x", "end"));
}

TEST_F(ReplTest, commands_are_no_messages) {
  talk({"one", "/clear", "/system be brief", "/system", "/help", "/nonsense", "//path", "/exit",
        "never"});
  EXPECT_THAT(asked, ElementsAre("one", "/path"));
  EXPECT_EQ(longest, 2u);  // the system message and one turn
}

TEST_F(ReplTest, a_failed_or_stopped_answer_leaves_no_trace) {
  talk({"one", "fail", "stop", "^C", "two"});
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(longest, 3u);
}

TEST_F(ReplTest, a_saved_conversation_goes_on) {
  const auto file = (folder / "talk.json").string();
  talk({"one", "/save " + file});
  talk({"/load " + file, "two"});
  EXPECT_EQ(longest, 3u);
  talk({"/load", "/load /no/such/file", "three"});
  EXPECT_EQ(asked.back(), "three");
}

TEST_F(ReplTest, saving_without_a_name_writes_to_the_sessions_folder) {
  talk({"one", "/save"});
  ASSERT_TRUE(fs::is_directory(folder / "sessions"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "sessions"), fs::directory_iterator()),
            1);
}

}  // namespace
}  // namespace hearth::cli
