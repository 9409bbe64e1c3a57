// gpt-oss: what holds an answer begins behind the header of its channel, not before it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "services/chat/constraint.h"
#include "services/chat/pipeline_testing.h"
#include "services/chat/protocol.h"

namespace hearth::services {
namespace {

using Ids = std::set<text::TokenId>;

/// Reads markers in a text as their tokens.
class HarmonyTokenizer : public testing::MarkerTokenizer {
 public:
  HarmonyTokenizer()
      : MarkerTokenizer({std::begin(text::Harmony::markers), std::end(text::Harmony::markers)}) {}
  Result<std::vector<text::TokenId>> encode(std::string_view text,
                                            text::EncodeOptions options) const override {
    return options.parse_markers ? ids(text) : ByteTokenizer::encode(text, options);
  }
};

class HarmonyTemplate : public testing::PlainTemplate {
 public:
  const std::string& source() const override { return source_; }

 private:
  const std::string source_ = "<|start|>assistant<|channel|>final<|message|>";
};

class HarmonyMask : public ::testing::Test {
 protected:
  HarmonyMask() {
    model_->tokenizer = tokenizer_;
    model_->chat_template = std::make_shared<HarmonyTemplate>();
    model_->info.vocab_size = tokenizer_->vocab_size();
    model_->info.tool_dialect = "harmony";
  }
  /// The mask of a chat with these fields.
  std::shared_ptr<engine::TokenMask> mask(const char* fields, int budget = 0) {
    Json body = Json::parse(fields);
    body["messages"] = Json::parse(R"([{"role":"user","content":"hi"}])");
    auto request = openai_chat.parse(body, "x").value();
    if (budget > 0) request.thinking_budget = budget;
    const auto format = output_format(*model_, request, request.input, {});
    auto made = answer_mask(*model_, request, request.input, format, {});
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : nullptr;
  }
  /// None: all may come.
  std::optional<Ids> allowed(engine::TokenMask& mask) {
    const auto words = mask.compute();
    EXPECT_TRUE(words) << words.error().message;
    if (!words || words->empty()) return std::nullopt;
    Ids ids;
    for (text::TokenId id = 0; id < tokenizer_->vocab_size(); ++id) {
      if (engine::mask_allows(*words, id)) ids.insert(id);
    }
    return ids;
  }
  bool takes(engine::TokenMask& mask, std::string_view text) {
    for (const auto id : tokenizer_->ids(text)) {
      const auto ids = allowed(mask);
      if ((ids && !ids->contains(id)) || !mask.accept(id)) return false;
    }
    return true;
  }
  Ids only(std::string_view text) const { return {tokenizer_->ids(text).front()}; }

  std::shared_ptr<const HarmonyTokenizer> tokenizer_ = std::make_shared<HarmonyTokenizer>();
  std::shared_ptr<LoadedModel> model_ = testing::scripted_model(nullptr);
};

constexpr const char* guided = R"({"guided_choice":["north","south"]})";

TEST_F(HarmonyMask, AnswersMayReasonFirst) {
  const auto held = mask(guided);
  EXPECT_EQ(allowed(*held), only("<|channel|>"));
  EXPECT_TRUE(takes(*held, "<|channel|>"));
  EXPECT_EQ(allowed(*held), (Ids{'a', 'f'}));
  EXPECT_TRUE(takes(*held, "analysis<|message|>"));
  EXPECT_EQ(allowed(*held), std::nullopt);
  EXPECT_TRUE(takes(*held, "Which way? {\"no\"}<|end|>"));
  EXPECT_TRUE(takes(*held, "<|start|>assistant<|channel|>final<|message|>"));
  EXPECT_EQ(allowed(*held), (Ids{'n', 's'}));
  EXPECT_FALSE(held->complete());
  EXPECT_TRUE(takes(*held, "north"));
  EXPECT_TRUE(held->complete());
}

TEST_F(HarmonyMask, NothingComesBetweenReasoningAndTheHeader) {
  const auto held = mask(guided);
  ASSERT_TRUE(takes(*held, "<|channel|>analysis<|message|>x<|end|>"));
  EXPECT_EQ(allowed(*held), only("<|start|>"));
  ASSERT_TRUE(takes(*held, "<|start|>assistant"));
  EXPECT_EQ(allowed(*held), only("<|channel|>"));
  ASSERT_TRUE(takes(*held, "<|channel|>"));
  EXPECT_EQ(allowed(*held), only("f"));
}

TEST_F(HarmonyMask, AnswersMayComeAtOnce) {
  const auto held = mask(guided);
  EXPECT_TRUE(takes(*held, "<|channel|>final<|message|>south"));
  EXPECT_TRUE(held->complete());
}

TEST_F(HarmonyMask, SchemasAndExpressionsAreHeldBehindTheHeader) {
  const auto schema = mask(R"({"response_format":{"type":"json_schema","json_schema":{"name":"n",
      "schema":{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"]}}}})");
  ASSERT_TRUE(takes(*schema, "<|channel|>final<|message|>"));
  EXPECT_EQ(allowed(*schema), only("{"));
  EXPECT_TRUE(takes(*schema, "{\"k\": 7}"));
  const auto expression = mask(R"({"guided_regex":"[A-Z]{2}"})");
  EXPECT_TRUE(takes(*expression, "<|channel|>final<|message|>AB"));
  EXPECT_TRUE(expression->complete());
}

constexpr const char* tools =
    R"("tools":[{"type":"function","function":{"name":"look","strict":true,
    "parameters":{"type":"object","properties":{"q":{"enum":["x"]}},"required":["q"],
    "additionalProperties":false}}}])";
constexpr std::string_view look_call =
    "<|channel|>commentary to=functions.look <|constrain|>json<|message|>{\"q\":\"x\"}<|call|>";

TEST_F(HarmonyMask, AForcedCallComesAfterTheReasoning) {
  const auto fields = fmt::format(R"({{"tool_choice":"required",{}}})", tools);
  const auto forced = mask(fields.c_str());
  EXPECT_TRUE(takes(*forced, "<|channel|>analysis<|message|>x<|end|><|start|>assistant"));
  EXPECT_TRUE(takes(*forced, look_call));
  const auto text = mask(fields.c_str());
  EXPECT_FALSE(takes(*text, "<|channel|>final<|message|>"));
}

TEST_F(HarmonyMask, AConstrainedTextOrACall) {
  const auto fields = fmt::format(R"({{"guided_choice":["north"],{}}})", tools);
  EXPECT_TRUE(takes(*mask(fields.c_str()), "<|channel|>final<|message|>north"));
  EXPECT_TRUE(takes(*mask(fields.c_str()), look_call));
  EXPECT_FALSE(takes(*mask(fields.c_str()), "<|channel|>final<|message|>west"));
}

TEST_F(HarmonyMask, AStrictToolIsHeldInAFreeAnswer) {
  const auto fields = fmt::format("{{{}}}", tools);
  const auto free = mask(fields.c_str());
  EXPECT_TRUE(takes(*free, "<|channel|>analysis<|message|>hm<|end|><|start|>assistant"));
  EXPECT_TRUE(takes(*free, "<|channel|>commentary to=functions."));
  EXPECT_EQ(allowed(*free), only("l"));
  EXPECT_FALSE(takes(*free, "look <|constrain|>json<|message|>{\"q\":\"y"));
  const auto other = mask(fields.c_str());
  EXPECT_TRUE(takes(*other, "<|channel|>analysis<|message|>hm<|end|><|start|>assistant to"));
  const auto ids = allowed(*other);
  ASSERT_TRUE(ids);
  EXPECT_FALSE(ids->contains('='));
  EXPECT_TRUE(takes(*mask(fields.c_str()), "<|channel|>final<|message|>All is well."));
}

TEST_F(HarmonyMask, ABudgetBoundsTheReasoningAndNotTheAnswer) {
  const auto bounded = mask("{}", 3);
  EXPECT_TRUE(takes(*bounded, "<|channel|>analysis<|message|>abc"));
  EXPECT_EQ(allowed(*bounded), only("<|end|>"));
  EXPECT_TRUE(takes(*bounded, "<|end|><|start|>assistant<|channel|>final<|message|>free text"));
  EXPECT_TRUE(takes(*mask("{}", 3), "<|channel|>final<|message|>longer than three"));
}

}  // namespace
}  // namespace hearth::services
