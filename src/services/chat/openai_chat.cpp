// POST /v1/chat/completions.
#include <fmt/format.h>

#include <array>

#include "services/chat/fields.h"
#include "services/chat/normalise.h"
#include "services/chat/openai_encoder.h"
#include "services/chat/options.h"

namespace hearth::services {
namespace {

/// `reasoning_effort` and what templates with a depth variable call it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> efforts{{
    {"none", "none"},
    {"minimal", "low"},
    {"low", "low"},
    {"medium", "medium"},
    {"high", "xhigh"},
    {"xhigh", "xhigh"},
}};

Result<Json> template_kwargs(const Json& body) {
  Json kwargs = Json::object();
  if (const Json* sent = field(body, "chat_template_kwargs")) {
    if (!sent->is_object()) return fail(wrong_value("chat_template_kwargs", *sent, "an object"));
    kwargs = *sent;
  }
  for (const char* name : {"enable_thinking", "preserve_thinking"}) {
    if (auto flag = read_bool(kwargs, name); !flag) {
      flag.error().param = fmt::format("chat_template_kwargs.{}", name);
      return fail(flag.error());
    }
  }
  const Json* effort = field(body, "reasoning_effort");
  if (!effort) return kwargs;
  for (const auto& [level, depth] : efforts) {
    if (*effort != level) continue;
    if (!kwargs.contains("enable_thinking")) kwargs["enable_thinking"] = level != "none";
    if (!kwargs.contains("reasoning_effort") && level != "none") kwargs["reasoning_effort"] = depth;
    return kwargs;
  }
  return fail(
      wrong_value("reasoning_effort", *effort, "one of none, minimal, low, medium, high, xhigh"));
}

/// `tools`, or the older `functions` as tools; null when there are none or `tool_choice` is none.
Result<Json> tools_of(const Json& body) {
  Json tools;
  if (const Json* sent = field(body, "tools")) {
    tools = *sent;
  } else if (const Json* functions = field(body, "functions")) {
    if (!functions->is_array()) return fail(wrong_value("functions", *functions, "an array"));
    tools = Json::array();
    for (const Json& f : *functions) tools.push_back({{"type", "function"}, {"function", f}});
  }
  if (!tools.is_null()) {
    auto checked = normalise_tools(tools);
    if (!checked) return checked;
    tools = std::move(*checked);
  }
  for (const char* name : {"tool_choice", "function_call"}) {
    const Json* choice = field(body, name);
    if (!choice || *choice == "auto") continue;
    if (*choice == "none") return Json();
    return fail(wrong_value(name, *choice, "\"auto\" or \"none\": a call cannot be forced yet"));
  }
  return tools;
}

Result<text::Conversation> conversation_of(const Json& body, std::string_view model) {
  text::Conversation chat;
  auto messages = normalise_messages(field(body, "messages"), model);
  if (!messages) return fail(messages.error());
  chat.messages = std::move(*messages);
  auto tools = tools_of(body);
  if (!tools) return fail(tools.error());
  chat.tools = std::move(*tools);
  auto kwargs = template_kwargs(body);
  if (!kwargs) return fail(kwargs.error());
  chat.kwargs = std::move(*kwargs);
  auto keep_on = read_bool(body, "continue_final_message");
  if (!keep_on) return fail(keep_on.error());
  chat.continue_final_message = keep_on->value_or(false);
  auto prompt = read_bool(body, "add_generation_prompt");
  if (!prompt) return fail(prompt.error());
  chat.add_generation_prompt = prompt->value_or(!chat.continue_final_message);
  return chat;
}

Result<Request> parse(const Json& body, std::string_view model) {
  Request request;
  if (auto chat = conversation_of(body, model)) {
    request.input = std::move(*chat);
  } else {
    return fail(chat.error());
  }
  auto sampling = read_sampling(body);
  if (!sampling) return fail(sampling.error());
  request.sampling = std::move(*sampling);
  auto stop = read_stop(body);
  if (!stop) return fail(stop.error());
  request.stop = std::move(*stop);
  auto logprobs = read_logprobs(body);
  if (!logprobs) return fail(logprobs.error());
  request.top_logprobs = *logprobs;
  if (auto read = read_delivery(body, request); !read) return fail(read.error());
  if (auto taken = refuse_unsupported(body); !taken) return fail(taken.error());
  return request;
}

class ChatEncoder : public OpenAiEncoder {
 public:
  ChatEncoder(const Request& request, ReplyInfo info)
      : OpenAiEncoder(request, std::move(info),
                      {"chatcmpl-", "chat.completion", "chat.completion.chunk"}) {}

 private:
  Json opening(const Choice&) const override {
    return step({{"role", "assistant"}, {"content", ""}}, nullptr);
  }
  Json more(Choice&, const TextDelta& delta) const override {
    return step({{"content", delta.text}}, logprobs(delta.tokens));
  }
  Json closing() const override { return step(Json::object(), nullptr); }
  Json whole(const Choice& choice) const override {
    return {{"message", {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}}},
            {"logprobs", logprobs(choice.tokens)}};
  }

  static Json step(Json delta, Json logprobs) {
    return {
        {"delta", std::move(delta)}, {"logprobs", std::move(logprobs)}, {"finish_reason", nullptr}};
  }
  Json logprobs(const std::vector<TokenInfo>& tokens) const {
    if (!wants_logprobs()) return nullptr;
    return {{"content", logprob_entries(tokens, tokenizer())}};
  }
};

std::unique_ptr<Encoder> make_encoder(const Request& request, ReplyInfo info) {
  return std::make_unique<ChatEncoder>(request, std::move(info));
}

}  // namespace

const Protocol openai_chat{
    .path = "/v1/chat/completions", .parse = parse, .encoder = make_encoder, .error = openai_error};

}  // namespace hearth::services
