#include "services/chat/openai_chat_encoder.h"

#include "services/chat/custom_tool.h"
#include "services/chat/openai_encoder.h"

namespace hearth::services {
namespace {

class ChatEncoder : public OpenAiEncoder {
 public:
  ChatEncoder(const Request& request, ReplyInfo info)
      : OpenAiEncoder(request, std::move(info),
                      {"chatcmpl-", "chat.completion", "chat.completion.chunk", true}),
        function_call_(request.reply_fields.is_object() &&
                       request.reply_fields["function_call"] == true),
        custom_(request.reply_fields.is_object() ? request.reply_fields["custom"] : Json()) {}

 private:
  Json opening(const Choice&) const override {
    return step({{"role", "assistant"}, {"content", ""}}, nullptr);
  }

  Json more(Choice&, const TextDelta& delta) const override {
    return step({{"content", delta.text}}, logprobs(delta.tokens));
  }

  Json reasoning(const ReasoningDelta& delta) const override {
    return step({{"reasoning", delta.text}, {"reasoning_content", delta.text}},
                logprobs(delta.tokens));
  }

  /// First who is called, then with what.
  std::vector<Json> call(const ToolCall& call) const override {
    const Json arguments{{"arguments", call.arguments}};
    if (function_call_) {
      return {step({{"function_call", {{"name", call.name}, {"arguments", ""}}}},
                   logprobs(call.tokens)),
              step({{"function_call", arguments}}, nullptr)};
    }
    Json head{{"index", call.index}};
    head.update(tool_call(call, false));
    Json rest{{"index", call.index}};
    if (is_custom_tool(custom_, call.name)) {
      rest["custom"] = {{"input", custom_text(call.arguments)}};
    } else {
      rest["function"] = arguments;
    }
    return {step({{"tool_calls", Json::array({head})}}, logprobs(call.tokens)),
            step({{"tool_calls", Json::array({rest})}}, nullptr)};
  }

  Json closing() const override { return step(Json::object(), nullptr); }

  std::string_view finish_reason(const Finished& end) const override {
    const bool called = end.tool_calls > 0 && end.reason == engine::FinishReason::stop;
    if (called) return function_call_ ? "function_call" : "tool_calls";
    return openai_finish_reason(end.reason);
  }

  Json whole(const Choice& choice) const override {
    const bool only_calls = !choice.calls.empty() && choice.text.empty();
    Json message{{"role", "assistant"},
                 {"content", only_calls ? Json() : Json(choice.text)},
                 {"refusal", nullptr}};
    if (!choice.reasoning.empty()) {
      message["reasoning"] = choice.reasoning;
      message["reasoning_content"] = choice.reasoning;
    }
    if (!choice.calls.empty()) add_calls(choice, message);
    return {{"message", std::move(message)}, {"logprobs", logprobs(choice.tokens)}};
  }

  void add_calls(const Choice& choice, Json& message) const {
    Json calls = Json::array();
    for (const ToolCall& call : choice.calls) calls.push_back(tool_call(call, true));
    if (function_call_)
      message["function_call"] = calls[0]["function"];
    else
      message["tool_calls"] = std::move(calls);
  }

  /// @param filled  with what it is called with
  Json tool_call(const ToolCall& call, bool filled) const {
    Json out{{"id", call.id}};
    if (is_custom_tool(custom_, call.name)) {
      out["type"] = "custom";
      out["custom"] = {{"name", call.name}, {"input", filled ? custom_text(call.arguments) : ""}};
    } else {
      out["type"] = "function";
      out["function"] = {{"name", call.name}, {"arguments", filled ? call.arguments : ""}};
    }
    return out;
  }

  static Json step(Json delta, Json logprobs) {
    return {
        {"delta", std::move(delta)}, {"logprobs", std::move(logprobs)}, {"finish_reason", nullptr}};
  }

  Json logprobs(const std::vector<TokenInfo>& tokens) const {
    if (!wants_logprobs()) return nullptr;
    return {{"content", logprob_entries(tokens, tokenizer())}, {"refusal", nullptr}};
  }

  const bool function_call_;
  const Json custom_;  // names of custom tools
};

}  // namespace

std::unique_ptr<Encoder> openai_chat_encoder(const Request& request, ReplyInfo info) {
  return std::make_unique<ChatEncoder>(request, std::move(info));
}

}  // namespace hearth::services
