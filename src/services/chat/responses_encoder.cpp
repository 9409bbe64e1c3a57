// Events to the Responses wire's stream and response object.
#include <chrono>
#include <utility>

#include "services/chat/block_encoder.h"
#include "services/chat/custom_tool.h"
#include "services/chat/openai_common.h"
#include "services/chat/responses.h"
#include "services/chat/responses_reasoning.h"
#include "services/chat/timings.h"
#include "services/chat/typed_events.h"

namespace hearth::services {
namespace {

Json responses_usage(const Usage& usage) {
  return {
      {"input_tokens", usage.prompt_tokens},
      {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}, {"cache_write_tokens", 0}}},
      {"output_tokens", usage.completion_tokens},
      {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

/// {token, bytes, logprob}
Json short_entry(const Json& entry) {
  return {{"token", entry["token"]}, {"bytes", entry["bytes"]}, {"logprob", entry["logprob"]}};
}

/// As the chat wire has them, with the fields of this wire alone.
Json responses_logprobs(const std::vector<TokenInfo>& tokens, const text::Tokenizer& tokenizer) {
  Json out = Json::array();
  for (const Json& entry : logprob_entries(tokens, tokenizer)) {
    Json told = short_entry(entry);
    told["top_logprobs"] = Json::array();
    for (const Json& rival : entry["top_logprobs"]) {
      told["top_logprobs"].push_back(short_entry(rival));
    }
    out.push_back(std::move(told));
  }
  return out;
}

class ResponsesEncoder : public BlockEncoder {
 public:
  ResponsesEncoder(const Request& request, ReplyInfo info)
      : BlockEncoder(request.stream), info_(std::move(info)), fields_(request.reply_fields),
        id_(new_id("resp_")) {}

  std::string begin(const std::vector<std::string>&) override {
    if (!streams()) return {};
    std::string out = event("response.created", {{"response", response("in_progress")}});
    out += ping();
    return out;
  }
  std::string end(const Usage& usage) override {
    return event(cut_ ? "response.incomplete" : "response.completed", {{"response", body(usage)}});
  }
  std::string error_frame(const Error& error) const override { return failure(error, {}); }
  std::string failure(const Error& error, const Usage& usage) const override {
    const Json told = responses_error(error)["error"];
    Json failed = response("failed");
    failed["error"] = {
        {"code", error.code == ErrorCode::overloaded ? "rate_limit_exceeded" : "server_error"},
        {"message", error.message}};
    if (usage.prompt_tokens > 0) failed["usage"] = responses_usage(usage);
    const Json code = told["code"].is_null() ? Json("server_error") : told["code"];
    std::string out =
        event("error", {{"code", code}, {"message", told["message"]}, {"param", told["param"]}});
    out += event("response.failed", {{"response", std::move(failed)}});
    return out;
  }
  /// A comment would not do: clients count silence in events.
  std::string ping() const override {
    return event("response.in_progress", {{"response", response("in_progress")}});
  }
  Json body(const Usage& usage) const override {
    Json out = response(cut_ ? "incomplete" : "completed");
    if (cut_) out["incomplete_details"] = {{"reason", "max_output_tokens"}};
    out["usage"] = responses_usage(usage);
    out["hearth"] = timings(usage);
    return out;
  }

 private:
  Json response(std::string_view status) const {
    Json out{{"id", id_},
             {"object", "response"},
             {"created_at", info_.created},
             {"status", status},
             {"error", nullptr},
             {"incomplete_details", nullptr},
             {"access_programs", nullptr},
             {"model", info_.model},
             {"output", output_}};
    if (fields_.is_object()) out.update(fields_["echo"]);
    return out;
  }

  /// Takes the next number: two calls in one expression would have no order.
  std::string event(std::string_view type, Json fields) const {
    Json out{{"type", type}, {"sequence_number", sequence_++}};
    out.update(fields);
    return sse_event(out);
  }
  void tell(std::string_view type, Json fields) {
    if (streams()) send(event(type, std::move(fields)));
  }
  /// An event of the item that is under way.
  void tell_item(std::string_view type, Json fields) {
    Json all{{"item_id", item_["id"]}, {"output_index", output_.size()}};
    all.update(fields);
    tell(type, std::move(all));
  }
  void item_event(std::string_view type) {
    tell(type, {{"output_index", output_.size()}, {"item", item_}});
  }
  void start(Json item) {
    item_ = std::move(item);
    item_event("response.output_item.added");
  }
  void done() {
    item_event("response.output_item.done");
    output_.push_back(std::move(item_));
  }

  static Json text_part(std::string text, Json logprobs) {
    return {{"type", "output_text"},
            {"text", std::move(text)},
            {"annotations", Json::array()},
            {"logprobs", std::move(logprobs)}};
  }
  static Json summary_part(std::string text) {
    return {{"type", "summary_text"}, {"text", std::move(text)}};
  }

  void open(Block block) override {
    text_.clear();
    logprobs_ = Json::array();
    if (block == Block::reasoning) {
      start({{"id", new_id("rs_")},
             {"type", "reasoning"},
             {"summary", Json::array()},
             {"status", "in_progress"}});
      tell_item("response.reasoning_summary_part.added",
                {{"summary_index", 0}, {"part", summary_part("")}});
    } else {
      start({{"id", new_id("msg_")},
             {"type", "message"},
             {"role", "assistant"},
             {"status", "in_progress"},
             {"content", Json::array()}});
      tell_item("response.content_part.added",
                {{"content_index", 0}, {"part", text_part("", logprobs_)}});
    }
  }

  void add(Block block, const std::string& text, const std::vector<TokenInfo>& tokens) override {
    text_ += text;
    if (block == Block::reasoning) {
      if (text.empty()) return;
      tell_item("response.reasoning_summary_text.delta", {{"summary_index", 0}, {"delta", text}});
    } else {
      Json logprobs = responses_logprobs(tokens, *info_.tokenizer);
      logprobs_.insert(logprobs_.end(), logprobs.begin(), logprobs.end());
      tell_item("response.output_text.delta",
                {{"content_index", 0}, {"delta", text}, {"logprobs", std::move(logprobs)}});
    }
  }

  void close(Block block, bool cut) override {
    item_["status"] = cut ? "incomplete" : "completed";
    if (block == Block::reasoning) {
      tell_item("response.reasoning_summary_text.done", {{"summary_index", 0}, {"text", text_}});
      tell_item("response.reasoning_summary_part.done",
                {{"summary_index", 0}, {"part", summary_part(text_)}});
      item_["summary"].push_back(summary_part(text_));
      if (fields_.is_object() && fields_["encrypted"] == true) {
        item_["encrypted_content"] = sealed_reasoning(text_);
      }
    } else {
      tell_item("response.output_text.done",
                {{"content_index", 0}, {"text", text_}, {"logprobs", logprobs_}});
      const Json part = text_part(text_, logprobs_);
      tell_item("response.content_part.done", {{"content_index", 0}, {"part", part}});
      item_["content"].push_back(part);
    }
    done();
  }

  void tool_call(const ToolCall& call) override {
    const bool custom = fields_.is_object() && is_custom_tool(fields_["custom"], call.name);
    const char* given = custom ? "input" : "arguments";
    const std::string type = custom ? "custom_tool_call" : "function_call";
    const std::string events =
        custom ? "response.custom_tool_call_input" : "response.function_call_arguments";
    const std::string value = custom ? custom_text(call.arguments) : call.arguments;
    start({{"id", new_id(custom ? "ctc_" : "fc_")},
           {"type", type},
           {"call_id", call.id},
           {"name", call.name},
           {given, ""},
           {"status", "in_progress"}});
    tell_item(events + ".delta", {{"delta", value}});
    tell_item(events + ".done", {{given, value}});
    item_[given] = value;
    item_["status"] = "completed";
    done();
  }

  void finished(const Finished& end) override { cut_ = end.reason == engine::FinishReason::length; }

  const ReplyInfo info_;
  const Json fields_;  // Request::reply_fields
  const std::string id_;
  Json output_ = Json::array();    // items that are complete
  Json item_;                      // the one under way
  std::string text_;               // of that one
  Json logprobs_ = Json::array();  // of its text's tokens
  bool cut_ = false;
  mutable int sequence_ = 0;  // also of frames that change nothing else
};

}  // namespace

std::unique_ptr<Encoder> responses_encoder(const Request& request, ReplyInfo info) {
  return std::make_unique<ResponsesEncoder>(request, std::move(info));
}

}  // namespace hearth::services
