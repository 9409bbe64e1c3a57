// Every chat template against transformers' renderings.
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <iterator>

#include "fixture.h"
#include "text/chat_template.h"

namespace hearth::text_suite {
namespace {

using text::ChatTemplate;
using text::Conversation;
using text::Tokenizer;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A tokenizer that names <s> and </s> and has no other token: renderings are text.
std::shared_ptr<const Tokenizer> bare_tokenizer() {
  const auto made = Tokenizer::from_json(
      R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,
          "post_processor":null,"decoder":null,
          "model":{"type":"WordLevel","vocab":{"x":0},"unk_token":"x"}})",
      Json{{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  if (!made) throw std::runtime_error(made.error().message);
  return *made;
}

/// 2025-03-04 05:06:07 here: the time that the fixtures' strftime_now tells.
std::int64_t fixture_time() {
  std::tm time{};
  time.tm_year = 125, time.tm_mon = 2, time.tm_mday = 4;
  time.tm_hour = 5, time.tm_min = 6, time.tm_sec = 7;
  time.tm_isdst = -1;
  return std::mktime(&time);
}

Conversation conversation_of(const Json& spec, bool generation_prompt) {
  Conversation conversation{.messages = spec.at("messages")};
  conversation.add_generation_prompt = generation_prompt;
  conversation.retry_merged = false;
  conversation.now = fixture_time();
  for (const auto& [key, value] : spec.items()) {
    if (key == "tools") {
      conversation.tools = value;
    } else if (key != "messages") {
      conversation.kwargs[key] = value;
    }
  }
  return conversation;
}

/// What differs between a rendering and the fixture's, or nothing.
std::string difference(const Result<text::RenderedChat>& ours, const Json& expected) {
  if (expected.contains("error")) {
    return ours ? "rendered where the reference says " + expected["error"].get<std::string>() : "";
  }
  if (!ours) return "refused: " + ours.error().message;
  const std::string text = ours->text(), reference = expected["text"];
  if (text == reference) return {};
  std::size_t at = 0;
  while (at < text.size() && at < reference.size() && text[at] == reference[at]) ++at;
  const std::size_t from = at < 40 ? 0 : at - 40;
  return "differs at byte " + std::to_string(at) + ": ours " +
         Json(text.substr(from, 90)).dump(-1, ' ', false, Json::error_handler_t::replace) +
         ", reference " +
         Json(reference.substr(from, 90)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Compares every rendering of a fixture; the differences must be those of the README's table.
void compare_all(const Json& renderings, const std::string& folder, const std::string& title) {
  const auto tokenizer = bare_tokenizer();
  std::set<std::string> differing;
  std::size_t compared = 0;
  for (const auto& [name, cases] : renderings.at("out").items()) {
    const auto compiled = ChatTemplate::from_source(read(fixtures() / folder / name), tokenizer);
    ASSERT_TRUE(compiled) << name << ": " << compiled.error().message;
    for (const auto& [key, expected] : cases.items()) {
      const auto slash = key.rfind('/');
      const Json& spec = renderings.at("conversations").at(key.substr(0, slash));
      const auto ours = (*compiled)->render(conversation_of(spec, key.substr(slash + 1) == "1"));
      ++compared;
      if (const std::string what = difference(ours, expected); !what.empty()) {
        differing.insert(name + " " + key);
        if (!known_differences(title).contains(name + " " + key)) {
          ADD_FAILURE() << name << " " << key << " " << what;
        }
      }
    }
  }
  EXPECT_EQ(differing, known_differences(title));
  EXPECT_GE(compared, 1600u);
}

TEST(TemplateParity, renderings_of_the_test_models_are_equal) {
  compare_all(fixture("reference/renderings.json"), "reference", "Renderings of the test models");
}

TEST(TemplateParity, renderings_of_our_conversations_are_equal) {
  compare_all(fixture("renderings.json"), ".", "Renderings of our conversations");
}

}  // namespace
}  // namespace hearth::text_suite
