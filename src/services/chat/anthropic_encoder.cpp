// Events to Anthropic's frames and message.
#include <fmt/format.h>

#include <utility>

#include "services/chat/anthropic.h"
#include "services/chat/block_encoder.h"
#include "services/chat/timings.h"
#include "services/chat/typed_events.h"

namespace hearth::services {
namespace {

/// Clients hand it back with the thinking; nothing here is signed, so any value is taken back.
constexpr std::string_view signature = "aGVhcnRoOiBub3Qgc2lnbmVk";

/// OpenAI's prefix of an id that we made becomes Anthropic's.
std::string tool_use_id(const std::string& id) {
  constexpr std::string_view ours = "call_";
  return id.starts_with(ours) ? fmt::format("toolu_{}", id.substr(ours.size())) : id;
}

Json anthropic_usage(int prompt, const Usage& usage) {
  return {{"input_tokens", prompt - usage.cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cached_tokens},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"thinking_tokens", usage.reasoning_tokens}}},
          {"server_tool_use", nullptr}};
}

/// Of a message: with the fields that the client's types demand there.
Json message_usage(int prompt, const Usage& usage) {
  Json out = anthropic_usage(prompt, usage);
  out["cache_creation"] = nullptr;
  out["inference_geo"] = nullptr;
  out["service_tier"] = "standard";
  out["speed"] = nullptr;
  return out;
}

std::string stop_reason_of(const Finished& end) {
  if (end.reason == engine::FinishReason::length) return "max_tokens";
  if (end.tool_calls > 0) return "tool_use";
  return end.stop_sequence.empty() ? "end_turn" : "stop_sequence";
}

class MessagesEncoder : public BlockEncoder {
 public:
  MessagesEncoder(const Request& request, ReplyInfo info)
      : BlockEncoder(request.stream), info_(std::move(info)), id_(new_id("msg_")) {}

  std::string begin(const std::vector<std::string>&) override {
    if (!streams()) return {};
    return sse_event({{"type", "message_start"}, {"message", message({})}}) + ping();
  }
  std::string end(const Usage& usage) override {
    return sse_event({{"type", "message_delta"},
                      {"delta",
                       {{"stop_reason", stop_reason_},
                        {"stop_sequence", stop_sequence_},
                        {"stop_details", nullptr},
                        {"container", nullptr}}},
                      {"usage", anthropic_usage(usage.prompt_tokens, usage)},
                      {"hearth", timings(usage)}}) +
           sse_event({{"type", "message_stop"}});
  }
  std::string error_frame(const Error& error) const override {
    return sse_event(anthropic_error(error));
  }
  std::string ping() const override { return sse_event({{"type", "ping"}}); }
  Json body(const Usage& usage) const override {
    Json whole = message(usage);
    whole["hearth"] = timings(usage);
    return whole;
  }

 private:
  Json message(const Usage& usage) const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", info_.model},
            {"content", content_},
            {"stop_reason", stop_reason_},
            {"stop_sequence", stop_sequence_},
            {"stop_details", nullptr},
            {"container", nullptr},
            {"diagnostics", nullptr},
            {"usage", message_usage(info_.prompt_tokens, usage)}};
  }

  int index() const { return int(content_.size()) - 1; }
  void start(Json block) {
    content_.push_back(block);
    send(sse_event({{"type", "content_block_start"},
                    {"index", index()},
                    {"content_block", std::move(block)}}));
  }
  void delta(Json delta) {
    send(sse_event(
        {{"type", "content_block_delta"}, {"index", index()}, {"delta", std::move(delta)}}));
  }
  void stop() { send(sse_event({{"type", "content_block_stop"}, {"index", index()}})); }

  void open(Block block) override {
    if (block == Block::text) {
      start({{"type", "text"}, {"text", ""}, {"citations", nullptr}});
    } else {
      start({{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
    }
  }
  void add(Block block, const std::string& text, const std::vector<TokenInfo>&) override {
    const std::string name = block == Block::text ? "text" : "thinking";
    content_.back()[name].get_ref<std::string&>() += text;
    delta({{"type", name + "_delta"}, {name, text}});
  }
  void close(Block block, bool) override {
    if (block == Block::reasoning) {
      content_.back()["signature"] = signature;
      delta({{"type", "signature_delta"}, {"signature", signature}});
    }
    stop();
  }
  void tool_call(const ToolCall& call) override {
    start({{"type", "tool_use"},
           {"id", tool_use_id(call.id)},
           {"name", call.name},
           {"input", Json::object()},
           {"caller", {{"type", "direct"}}}});
    delta({{"type", "input_json_delta"}, {"partial_json", ""}});
    delta({{"type", "input_json_delta"}, {"partial_json", call.arguments}});
    if (auto input = parse_json(call.arguments)) content_.back()["input"] = std::move(*input);
    stop();
  }
  void finished(const Finished& end) override {
    stop_reason_ = stop_reason_of(end);
    if (stop_reason_ == "stop_sequence") stop_sequence_ = end.stop_sequence;
  }

  const ReplyInfo info_;
  const std::string id_;
  Json content_ = Json::array();  // blocks, the last one perhaps still open
  Json stop_reason_, stop_sequence_;
};

}  // namespace

std::unique_ptr<Encoder> anthropic_encoder(const Request& request, ReplyInfo info) {
  return std::make_unique<MessagesEncoder>(request, std::move(info));
}

}  // namespace hearth::services
