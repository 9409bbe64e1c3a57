#include "cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A verb's worth of fields.
struct Fields {
  std::optional<std::string> first, second;
  int port = 8080;
  std::optional<float> temperature;
  std::string device = "auto", prompt;
  std::vector<std::string> stops;
  bool open = false;
  std::optional<bool> thinking;
  OptionTable table;

  Fields() {
    table.positional("first", "", &first);
    table.positional("second", "", &second);
    table.add(whole("--port", "PORT", &port, 0, 65535, "")).env = "T_PORT";
    table.add(real("--temperature,--temp", "T", &temperature, 0, 5, ""));
    table.add(choice("--device", "D", &device, {"auto", "cpu"}, "")).env = "T_DEVICE";
    table.add(text("-p,--prompt", "TEXT", &prompt, ""));
    table.add(texts("--stop", "TEXT", &stops, ""));
    table.add(flag("--open", &open, ""));
    table.add(on_off("--thinking", &thinking, ""));
    table.add(tolerated("--pipeline", ""));
    table.add(refused("--l3", "was removed"));
  }

  Result<std::vector<std::string>> read(std::vector<std::string> arguments,
                                        const Environment& environment = {},
                                        const ConfigFile& config = {}) {
    auto split = split_arguments(table, std::move(arguments));
    if (!split) return fail(split.error());
    if (auto done = apply(table, *split, environment, config, "serve"); !done) {
      return fail(done.error());
    }
    return take_positionals(table, *split);
  }

  std::string complaint(std::vector<std::string> arguments, const Environment& environment = {},
                        const ConfigFile& config = {}) {
    const auto done = read(std::move(arguments), environment, config);
    if (done) return "accepted";
    EXPECT_EQ(done.error().code, ErrorCode::usage);
    return done.error().message;
  }
};

TEST(Parse, takes_values_after_a_blank_or_an_equals_sign) {
  Fields f;
  ASSERT_TRUE(f.read({"--port", "9000", "--temp=0.5", "-p", "hello", "--prompt=--port", "--open"}));
  EXPECT_EQ(f.port, 9000);
  EXPECT_FLOAT_EQ(*f.temperature, 0.5);
  EXPECT_EQ(f.prompt, "--port");
  EXPECT_TRUE(f.open);
}

TEST(Parse, the_last_of_a_repeated_flag_wins_and_lists_collect) {
  Fields f;
  ASSERT_TRUE(f.read({"--port", "1", "--port", "2", "--stop", "a", "--stop=b"}));
  EXPECT_EQ(f.port, 2);
  EXPECT_THAT(f.stops, ElementsAre("a", "b"));
}

TEST(Parse, an_empty_value_is_a_value) {
  Fields f;
  f.prompt = "before";
  ASSERT_TRUE(f.read({"--prompt=", "word"}));
  EXPECT_EQ(f.prompt, "");
  EXPECT_EQ(f.first, "word");
}

TEST(Parse, two_dashes_end_the_options) {
  Fields f;
  ASSERT_TRUE(f.read({"a", "--", "--port"}));
  EXPECT_EQ(f.first, "a");
  EXPECT_EQ(f.second, "--port");
  EXPECT_EQ(f.port, 8080);
}

TEST(Parse, a_lone_dash_is_a_word_and_more_words_are_handed_back) {
  Fields f;
  const auto rest = f.read({"a", "-", "c", "d"});
  ASSERT_TRUE(rest);
  EXPECT_EQ(f.second, "-");
  EXPECT_THAT(*rest, ElementsAre("c", "d"));
}

TEST(Parse, an_unknown_flag_names_the_nearest) {
  EXPECT_EQ(Fields().complaint({"--prot", "1"}), "unknown flag --prot; did you mean --port?");
  EXPECT_EQ(Fields().complaint({"--prot=1"}), "unknown flag --prot; did you mean --port?");
  EXPECT_EQ(Fields().complaint({"--kv-quant", "3"}), "unknown flag --kv-quant");
  EXPECT_THAT(Fields().complaint({"-5 degrees, is it cold?"}), HasSubstr("put -- before text"));
}

TEST(Parse, a_flag_at_the_end_needs_its_value) {
  EXPECT_EQ(Fields().complaint({"--port"}), "--port needs a value");
}

TEST(Parse, a_bad_value_names_flag_value_and_range) {
  EXPECT_EQ(Fields().complaint({"--port", "65536"}),
            "--port: got '65536', expected a whole number from 0 to 65535");
  EXPECT_EQ(Fields().complaint({"--temp", "6"}),
            "--temperature: got '6', expected a number from 0 to 5");
  EXPECT_EQ(Fields().complaint({"--device", "tpu"}),
            "--device: got 'tpu', expected one of auto, cpu");
  EXPECT_EQ(Fields().complaint({"--thinking", "maybe"}),
            "--thinking: got 'maybe', expected one of on, off, 1, 0, true, false");
  for (const char* bad : {"", "1.5", "x", "1x", "0x10", "-1", "nan", "1e9"}) {
    EXPECT_THAT(Fields().complaint({"--port", bad}), HasSubstr("expected a whole number")) << bad;
  }
}

TEST(Parse, an_earlier_bad_value_is_refused_though_the_last_wins) {
  EXPECT_THAT(Fields().complaint({"--port", "x", "--port", "1"}), HasSubstr("got 'x'"));
}

TEST(Parse, a_removed_flag_says_what_to_use) {
  EXPECT_EQ(Fields().complaint({"--l3"}), "--l3: was removed");
}

TEST(Parse, on_and_off_are_spelled_six_ways) {
  for (const auto& [word, value] :
       std::initializer_list<std::pair<const char*, bool>>{{"on", true},
                                                           {"1", true},
                                                           {"true", true},
                                                           {"off", false},
                                                           {"0", false},
                                                           {"false", false}}) {
    Fields f;
    ASSERT_TRUE(f.read({"--thinking", word}));
    EXPECT_EQ(f.thinking, value);
  }
}

TEST(Precedence, flag_beats_variable_beats_file_beats_default) {
  const auto environment = Environment::of({{"T_PORT", "2"}});
  const ConfigFile config{"c.toml", {{"", "port", {"3"}, 1}}};
  Fields flagged, variable, file, nothing;
  ASSERT_TRUE(flagged.read({"--port", "1"}, environment, config));
  ASSERT_TRUE(variable.read({}, environment, config));
  ASSERT_TRUE(file.read({}, {}, config));
  ASSERT_TRUE(nothing.read({}));
  EXPECT_EQ(flagged.port, 1);
  EXPECT_EQ(variable.port, 2);
  EXPECT_EQ(file.port, 3);
  EXPECT_EQ(nothing.port, 8080);
}

TEST(Precedence, a_verbs_own_section_beats_the_common_one) {
  const ConfigFile config{
      "c.toml", {{"serve", "port", {"4"}, 3}, {"", "port", {"3"}, 1}, {"chat", "port", {"5"}, 6}}};
  Fields f;
  ASSERT_TRUE(f.read({}, {}, config));
  EXPECT_EQ(f.port, 4);
}

TEST(Precedence, a_bad_variable_or_file_value_says_where_it_stands) {
  EXPECT_EQ(Fields().complaint({}, Environment::of({{"T_DEVICE", "tpu"}})),
            "T_DEVICE: got 'tpu', expected one of auto, cpu");
  EXPECT_EQ(Fields().complaint({}, {}, {"c.toml", {{"", "port", {"70000"}, 7}}}),
            "c.toml, line 7: port: got '70000', expected a whole number from 0 to 65535");
  EXPECT_EQ(Fields().complaint({}, {}, {"c.toml", {{"", "port", {"1", "2"}, 7}}}),
            "c.toml, line 7: port: expected one value, not a list");
}

TEST(Precedence, a_list_in_the_file_fills_a_list) {
  Fields f;
  ASSERT_TRUE(f.read({}, {}, {"c.toml", {{"", "stop", {"x", "y"}, 1}, {"", "open", {"true"}, 2}}}));
  EXPECT_THAT(f.stops, ElementsAre("x", "y"));
  EXPECT_TRUE(f.open);
}

}  // namespace
}  // namespace hearth::cli
