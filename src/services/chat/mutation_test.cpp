// Every value in a body, replaced by every kind of value: a request or an error that says
// something, never an exception.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "services/chat/protocol.h"
#include "services/chat/request_bodies.h"

namespace hearth::services {
namespace {

/// Pointers to every value in `json`.
void collect(const Json& json, const Json::json_pointer& at,
             std::vector<Json::json_pointer>& places) {
  places.push_back(at);
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) collect(value, at / name, places);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) collect(json[i], at / i, places);
  }
}

void mutate_everything(const Protocol& protocol, std::string_view text) {
  const Json body = Json::parse(text);
  const auto whole = protocol.parse(body, "tiny");
  ASSERT_TRUE(whole) << protocol.path << ": " << whole.error().message;
  const Json values = Json::parse(
      R"([null,true,0,-1,5,1.5,1e300,"","x",[],[null],[5],["x"],[{}],[[]],{},{"a":1},
          {"type":5},{"type":"x"},[{"type":"text"}],[{"type":null}]])");
  std::vector<Json::json_pointer> places;
  collect(body, Json::json_pointer(), places);
  for (const auto& place : places) {
    if (place.empty()) continue;  // that a body is an object is seen before
    for (const Json& value : values) {
      Json mutated = body;
      mutated[place] = value;
      try {
        const auto request = protocol.parse(mutated, "tiny");
        if (request) {
          protocol.encoder(*request, {})->begin({});
        } else {
          EXPECT_FALSE(request.error().message.empty()) << mutated.dump();
          const auto code = request.error().code;
          EXPECT_TRUE(code == ErrorCode::invalid_request || code == ErrorCode::invalid_schema)
              << mutated.dump();
        }
      } catch (const std::exception& e) {
        ADD_FAILURE() << protocol.path << ": " << e.what() << " for " << mutated.dump();
      }
    }
  }
}

TEST(Mutations, chat) { mutate_everything(openai_chat, testing::chat_body); }

TEST(Mutations, completions) { mutate_everything(openai_completions, testing::completion_body); }

TEST(Mutations, messages) { mutate_everything(anthropic_messages, testing::messages_body); }

TEST(Mutations, responses) { mutate_everything(openai_responses, testing::responses_body); }

TEST(Mutations, ollama) {
  mutate_everything(ollama_chat, testing::ollama_chat_body);
  mutate_everything(ollama_generate, testing::ollama_generate_body);
}

}  // namespace
}  // namespace hearth::services
