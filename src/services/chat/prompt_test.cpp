#include "services/chat/prompt.h"

#include <gtest/gtest.h>

#include "services/chat/call_id.h"
#include "services/chat/sampling_values.h"
#include "services/chat/scripted_model.h"

namespace hearth::services {
namespace {

const char* const conversation = R"([
  {"role":"system","content":"You keep lists tidy."},
  {"role":"system","content":"Units are metric."},
  {"role":"user","content":"Part one."},
  {"role":"user","content":"Part two."},
  {"role":"system","content":"No emoji."}])";

std::string rendered(const LoadedModel& model, const Json& messages) {
  text::Conversation chat;
  chat.messages = messages;
  const auto ids = encode_input(model, chat, {});
  return ids ? model.tokenizer->decode(*ids, false) : "error: " + ids.error().message;
}

TEST(Prompt, a_template_that_takes_it_gets_the_conversation_as_it_was_sent) {
  const auto model = testing::scripted_model(nullptr);
  EXPECT_EQ(rendered(*model, Json::parse(conversation)),
            "system: You keep lists tidy.\nsystem: Units are metric.\nuser: Part one.\n"
            "user: Part two.\nsystem: No emoji.\nassistant: ");
}

TEST(Prompt, a_template_without_system_turns_gets_their_text_in_the_first_user_turn) {
  const auto model = testing::scripted_model(nullptr);
  model->chat_template = std::make_shared<testing::PlainTemplate>(false);
  EXPECT_EQ(rendered(*model, Json::parse(conversation)),
            "user: You keep lists tidy.\n\nUnits are metric.\n\nNo emoji.\n\nPart one.\n\n"
            "Part two.\nassistant: ");
}

TEST(Prompt, merging_keeps_tool_turns_apart) {
  const Json messages = Json::parse(R"([
    {"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"},
    {"role":"user","content":"x"},{"role":"user","content":"y"}])");
  const Json merged = merge_turns(messages);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[2]["content"], "x\n\ny");
}

/// Refuses tool results, as templates of models without tools do.
class NoToolsTemplate : public testing::PlainTemplate {
 public:
  explicit NoToolsTemplate(std::string source = "plain") : source_(std::move(source)) {}
  Result<text::RenderedChat> render(const text::Conversation& chat) const override {
    for (const Json& message : chat.messages) {
      if (message["role"] != "tool") continue;
      return fail(ErrorCode::invalid_request, "prompt build failed: no tools, please", "messages");
    }
    return PlainTemplate::render(chat);
  }
  Result<std::vector<text::TokenId>> encode(const text::Conversation& chat) const override {
    const auto rendered = render(chat);
    if (!rendered) return fail(rendered.error());
    return testing::ByteTokenizer().encode(rendered->text(), {});
  }
  const std::string& source() const override { return source_; }

 private:
  const std::string source_;
};

TEST(Prompt, what_a_template_refuses_is_named_by_its_index) {
  const auto model = testing::scripted_model(nullptr);
  model->chat_template = std::make_shared<NoToolsTemplate>();
  text::Conversation chat;
  chat.messages = Json::parse(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},
    {"role":"tool","content":"c"},{"role":"user","content":"d"}])");
  const auto ids = encode_input(*model, chat, {});
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().param, "messages[2]");
  EXPECT_EQ(ids.error().message, "prompt build failed: no tools, please (at messages[2])");
}

/// Knows nothing of tools.
class OldTemplate : public NoToolsTemplate {
 public:
  bool supports_tools() const override { return false; }
};

TEST(Prompt, calls_and_results_are_text_for_a_template_that_knows_nothing_of_tools) {
  const auto model = testing::scripted_model(nullptr);
  model->chat_template = std::make_shared<OldTemplate>();
  const Json messages = Json::parse(R"([{"role":"user","content":"a"},
    {"role":"assistant","content":"hm","tool_calls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":{"x":1}}},
      {"id":"c2","type":"function","function":{"name":"g","arguments":{}}}]},
    {"role":"tool","tool_call_id":"c1","content":"one"},
    {"role":"tool","tool_call_id":"c2","content":"two"}])");
  EXPECT_EQ(rendered(*model, messages),
            "user: a\nassistant: hm\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\":1}}\n"
            "</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>\n"
            "user: <tool_response>\none\n</tool_response>\n\n<tool_response>\ntwo\n"
            "</tool_response>\nassistant: ");
}

TEST(Prompt, tools_are_described_to_a_template_that_knows_nothing_of_them) {
  const auto model = testing::scripted_model(nullptr);
  model->chat_template = std::make_shared<OldTemplate>();
  text::Conversation chat;
  chat.tools = Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{}}}])");
  for (const bool system : {true, false}) {
    chat.messages = Json::parse(R"([{"role":"user","content":"a"}])");
    if (system) {
      chat.messages.insert(chat.messages.begin(),
                           Json{{"role", "system"}, {"content", "Be kind."}});
    }
    const auto ids = encode_input(*model, chat, {});
    ASSERT_TRUE(ids);
    const std::string prompt = model->tokenizer->decode(*ids, false);
    EXPECT_TRUE(prompt.starts_with(system ? "system: Be kind.\n\nThese" : "system: These"))
        << prompt;
    EXPECT_NE(prompt.find("{\"name\":\"f\",\"parameters\":{}}\n"), prompt.npos) << prompt;
    EXPECT_NE(prompt.find("<tool_call>\n{\"name\": \"NAME\", \"arguments\": "), prompt.npos)
        << prompt;
    EXPECT_TRUE(prompt.ends_with("\nuser: a\nassistant: ")) << prompt;
  }
}

TEST(Prompt, calls_are_told_in_the_form_that_is_looked_for_in_the_answer) {
  const auto model = testing::scripted_model(nullptr);
  model->chat_template = std::make_shared<OldTemplate>();
  model->info.tool_dialect = "llama3";
  const Json messages = Json::parse(R"([{"role":"assistant","content":"","tool_calls":[
      {"id":"c1","type":"function","function":{"name":"f","arguments":{"x":1}}}]}])");
  EXPECT_EQ(rendered(*model, messages),
            "assistant: {\"name\": \"f\", \"parameters\": {\"x\":1}}\nassistant: ");
}

TEST(Prompt, call_ids_are_short_where_the_template_wants_them_so) {
  const Json messages = Json::parse(R"([
    {"role":"assistant","content":"","tool_calls":[{"id":"call_0123456789","type":"function",
      "function":{"name":"f","arguments":{}}},{"id":"abc123XYZ","type":"function",
      "function":{"name":"f","arguments":{}}}]},
    {"role":"tool","tool_call_id":"call_0123456789","content":"1"}])");
  const Json shortened = with_short_call_ids(messages);
  const auto id = shortened[0]["tool_calls"][0]["id"].get<std::string>();
  EXPECT_EQ(id.size(), 9u);
  EXPECT_EQ(shortened[1]["tool_call_id"], id);
  EXPECT_EQ(shortened[0]["tool_calls"][1]["id"], "abc123XYZ") << "it fits already";
  const auto model = testing::scripted_model(nullptr);
  EXPECT_NE(rendered(*model, messages).find("call_0123456789"), std::string::npos);
  model->chat_template = std::make_shared<NoToolsTemplate>("tool_call.id|length != 9");
  const Json calls = Json::array({messages[0]});
  EXPECT_EQ(rendered(*model, calls).find("call_0123456789"), std::string::npos);
}

TEST(Prompt, a_model_without_a_template_says_why) {
  const auto model = testing::scripted_model(nullptr);
  model->chat_template = nullptr;
  model->no_template_reason = "no chat_template.jinja";
  EXPECT_NE(rendered(*model, Json::parse(conversation)).find("no chat_template.jinja"),
            std::string::npos);
}

TEST(SamplingValues, request_then_flag_then_model_then_built_in) {
  const SamplingFields nothing;
  SamplingFields asked;
  asked.temperature = 1.5f;
  const ServerDefaults flags{.temperature = 0.9f};
  const GenerationDefaults model{.temperature = 0.3f, .top_p = 0.8f, .top_k = 20};
  EXPECT_EQ(sampling_values(asked, flags, model, false).temperature, 1.5f);
  EXPECT_EQ(sampling_values(nothing, flags, model, false).temperature, 0.9f);
  EXPECT_EQ(sampling_values(nothing, {}, model, false).temperature, 0.3f);
  EXPECT_EQ(sampling_values(nothing, {}, {}, false).temperature, 0.7f);
  EXPECT_EQ(sampling_values(nothing, {}, model, false).top_k, 20);
  EXPECT_EQ(sampling_values(nothing, {}, {}, false).top_p, 0.f);
}

TEST(SamplingValues, a_models_high_temperature_holds_only_while_it_thinks) {
  const GenerationDefaults model{.temperature = 1.f};
  EXPECT_EQ(sampling_values({}, {}, model, true).temperature, 1.f);
  EXPECT_EQ(sampling_values({}, {}, model, false).temperature, 0.7f);
}

TEST(ModelId, is_org_and_name_of_a_hub_folder_else_the_folders_name) {
  EXPECT_EQ(model_id("/hub/models--org--some-name/snapshots/0123abc"), "org/some-name");
  EXPECT_EQ(model_id("/models/tiny-chat-4bit/"), "tiny-chat-4bit");
  EXPECT_EQ(model_id("/models/tiny.Q4_0.gguf"), "tiny.Q4_0");
}

}  // namespace
}  // namespace hearth::services
