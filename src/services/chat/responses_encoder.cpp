// Events to the Responses wire's stream and response object.
#include <chrono>
#include <utility>

#include "services/chat/block_encoder.h"
#include "services/chat/fields.h"
#include "services/chat/responses.h"
#include "services/chat/responses_reasoning.h"
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

/// The free text of a custom tool's call.
std::string custom_input(const std::string& arguments) {
  const auto json = parse_json(arguments);
  const Json* input = json && json->is_object() ? field(*json, custom_tool_field) : nullptr;
  return input && input->is_string() ? input->get<std::string>() : arguments;
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

  static Json text_part(std::string text) {
    return {{"type", "output_text"},
            {"text", std::move(text)},
            {"annotations", Json::array()},
            {"logprobs", Json::array()}};
  }
  static Json summary_part(std::string text) {
    return {{"type", "summary_text"}, {"text", std::move(text)}};
  }

  void open(Block block) override {
    text_.clear();
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
      tell_item("response.content_part.added", {{"content_index", 0}, {"part", text_part("")}});
    }
  }

  void add(Block block, const std::string& text) override {
    text_ += text;
    if (block == Block::reasoning) {
      tell_item("response.reasoning_summary_text.delta", {{"summary_index", 0}, {"delta", text}});
    } else {
      tell_item("response.output_text.delta",
                {{"content_index", 0}, {"delta", text}, {"logprobs", Json::array()}});
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
                {{"content_index", 0}, {"text", text_}, {"logprobs", Json::array()}});
      tell_item("response.content_part.done", {{"content_index", 0}, {"part", text_part(text_)}});
      item_["content"].push_back(text_part(text_));
    }
    done();
  }

  bool is_custom(const std::string& name) const {
    if (!fields_.is_object()) return false;
    for (const Json& custom : fields_["custom"]) {
      if (custom == name) return true;
    }
    return false;
  }

  void tool_call(const ToolCall& call) override {
    const bool custom = is_custom(call.name);
    const char* given = custom ? "input" : "arguments";
    const std::string type = custom ? "custom_tool_call" : "function_call";
    const std::string events =
        custom ? "response.custom_tool_call_input" : "response.function_call_arguments";
    const std::string value = custom ? custom_input(call.arguments) : call.arguments;
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
  Json output_ = Json::array();  // items that are complete
  Json item_;                    // the one under way
  std::string text_;             // of that one
  bool cut_ = false;
  mutable int sequence_ = 0;  // also of frames that change nothing else
};

}  // namespace

std::unique_ptr<Encoder> responses_encoder(const Request& request, ReplyInfo info) {
  return std::make_unique<ResponsesEncoder>(request, std::move(info));
}

}  // namespace hearth::services
