// Events to Ollama's lines of JSON, or its one object.
#include <algorithm>
#include <chrono>
#include <utility>

#include "services/chat/ollama.h"
#include "services/chat/openai_common.h"

namespace hearth::services {
namespace {

using Clock = std::chrono::steady_clock;

std::string line(const Json& json) { return dump(json) + "\n"; }

std::int64_t nanoseconds(double seconds) { return std::int64_t(seconds * 1e9); }

class OllamaEncoder : public Encoder {
 public:
  OllamaEncoder(OllamaRoute route, const Request& request, ReplyInfo info)
      : route_(route), stream_(request.stream), logprobs_(request.top_logprobs >= 0),
        info_(std::move(info)) {}

  std::string begin(const std::vector<std::string>&) override { return {}; }

  std::string frames(const ChoiceEvent& event) override {
    if (const auto* text = std::get_if<TextDelta>(&event.event)) {
      text_ += text->text;
      return told({{content_name(), text->text}}, text->tokens);
    }
    if (const auto* reasoning = std::get_if<ReasoningDelta>(&event.event)) {
      thinking_ += reasoning->text;
      return told({{content_name(), ""}, {"thinking", reasoning->text}}, reasoning->tokens);
    }
    if (const auto* call = std::get_if<ToolCall>(&event.event)) {
      Json made = tool_call(*call);
      calls_.push_back(made);
      return told({{content_name(), ""}, {"tool_calls", Json::array({std::move(made)})}},
                  call->tokens);
    }
    reason_ = openai_finish_reason(std::get<Finished>(event.event).reason);
    return {};
  }

  std::string end(const Usage& usage) override {
    Json last = chunk({{content_name(), ""}});
    add_totals(usage, last);
    return line(last);
  }
  std::string error_frame(const Error& error) const override { return line(ollama_error(error)); }
  /// Clients parse every line: an empty one would not do.
  std::string ping() const override {
    Json empty = chunk({{content_name(), ""}});
    empty["done"] = false;
    return line(empty);
  }

  Json body(const Usage& usage) const override {
    Json fields{{content_name(), text_}};
    if (!thinking_.empty()) fields["thinking"] = thinking_;
    if (!calls_.empty()) fields["tool_calls"] = calls_;
    Json whole = chunk(std::move(fields));
    if (logprobs_) whole["logprobs"] = logprob_entries(tokens_, *info_.tokenizer);
    add_totals(usage, whole);
    return whole;
  }

 private:
  const char* content_name() const { return route_ == OllamaRoute::chat ? "content" : "response"; }

  static Json tool_call(const ToolCall& call) {
    auto arguments = parse_json(call.arguments);
    return {{"id", call.id},
            {"function",
             {{"index", call.index},
              {"name", call.name},
              {"arguments", arguments ? std::move(*arguments) : Json::object()}}}};
  }

  Json chunk(Json fields) const {
    Json out{{"model", info_.model}, {"created_at", ollama_time()}};
    if (route_ == OllamaRoute::chat) {
      out["message"] = {{"role", "assistant"}};
      out["message"].update(fields);
    } else {
      out.update(fields);
    }
    return out;
  }

  std::string told(Json fields, const std::vector<TokenInfo>& tokens) {
    if (!stream_) {
      tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
      return {};
    }
    Json out = chunk(std::move(fields));
    out["done"] = false;
    if (logprobs_ && !tokens.empty()) out["logprobs"] = logprob_entries(tokens, *info_.tokenizer);
    return line(out);
  }

  /// Clients divide by the durations: none is 0 but that of loading.
  void add_totals(const Usage& usage, Json& out) const {
    const auto prompt = std::max<std::int64_t>(1, nanoseconds(usage.prefill_seconds));
    const auto answer = std::max<std::int64_t>(1, nanoseconds(usage.decode_seconds));
    const auto total = std::chrono::nanoseconds(Clock::now() - start_).count();
    out["done"] = true;
    out["done_reason"] = reason_;
    out["total_duration"] = std::max<std::int64_t>(total, prompt + answer);
    out["load_duration"] = 0;
    out["prompt_eval_count"] = usage.prompt_tokens;
    out["prompt_eval_duration"] = prompt;
    out["eval_count"] = usage.completion_tokens;
    out["eval_duration"] = answer;
  }

  const OllamaRoute route_;
  const bool stream_, logprobs_;
  const ReplyInfo info_;
  const Clock::time_point start_ = Clock::now();
  std::string text_, thinking_;
  Json calls_ = Json::array();
  std::vector<TokenInfo> tokens_;
  std::string reason_ = "stop";
};

}  // namespace

std::unique_ptr<Encoder> ollama_encoder(OllamaRoute route, const Request& request, ReplyInfo info) {
  return std::make_unique<OllamaEncoder>(route, request, std::move(info));
}

}  // namespace hearth::services
