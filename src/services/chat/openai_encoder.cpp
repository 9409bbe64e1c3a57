#include "services/chat/openai_encoder.h"

#include <fmt/format.h>

#include <utility>

#include "services/chat/timings.h"

namespace hearth::services {

OpenAiEncoder::OpenAiEncoder(const Request& request, ReplyInfo info, const Names& names)
    : stream_(request.stream), logprobs_(request.top_logprobs >= 0),
      include_usage_(request.include_usage.value_or(false)), service_tier_(request.service_tier),
      info_(std::move(info)), names_(names), id_(fmt::format("{}{}", names.id_prefix, new_uuid())),
      choices_(request.choices()) {}

std::string OpenAiEncoder::begin(const std::vector<std::string>& echoes) {
  std::string out;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (i < echoes.size()) choices_[i].text = echoes[i];
    if (!stream_) continue;
    if (Json choice = opening(choices_[i]); !choice.is_null()) {
      out += sse_data(chunk(int(i), std::move(choice)));
    }
  }
  return out;
}

std::string OpenAiEncoder::frames(const ChoiceEvent& event) {
  Choice& choice = choices_[event.choice];
  const auto* end = std::get_if<Finished>(&event.event);
  if (!end) {
    if (stream_) return delta_frames(event.choice, event.event);
    gather(choice, event.event);
    return {};
  }
  choice.finish_reason = finish_reason(*end);
  if (!stream_) return {};
  Json closed = closing();
  closed["finish_reason"] = choice.finish_reason;
  Json last = chunk(event.choice, std::move(closed));
  if (++finished_ < int(choices_.size())) return sse_data(last);
  last_ = std::move(last);
  return {};
}

std::string OpenAiEncoder::delta_frames(int index, const Event& event) {
  if (const auto* text = std::get_if<TextDelta>(&event)) {
    return sse_data(chunk(index, more(choices_[index], *text)));
  }
  if (const auto* delta = std::get_if<ReasoningDelta>(&event)) {
    Json choice = reasoning(*delta);
    return choice.is_null() ? std::string() : sse_data(chunk(index, std::move(choice)));
  }
  std::string out;
  for (Json& choice : call(std::get<ToolCall>(event))) out += sse_data(chunk(index, choice));
  return out;
}

/// Adds an event to the answer that is sent whole.
void OpenAiEncoder::gather(Choice& choice, const Event& event) {
  const auto add = [&](std::string& text, const auto& delta) {
    text += delta.text;
    choice.tokens.insert(choice.tokens.end(), delta.tokens.begin(), delta.tokens.end());
  };
  if (const auto* text = std::get_if<TextDelta>(&event)) {
    add(choice.text, *text);
  } else if (const auto* reasoning = std::get_if<ReasoningDelta>(&event)) {
    add(choice.reasoning, *reasoning);
  } else {
    const auto& call = std::get<ToolCall>(event);
    choice.calls.push_back(call);
    choice.tokens.insert(choice.tokens.end(), call.tokens.begin(), call.tokens.end());
  }
}

std::string OpenAiEncoder::end(const Usage& usage) {
  std::string out;
  if (last_ && !include_usage_) (*last_)["hearth"] = timings(usage);
  if (last_) out = sse_data(*last_);
  if (include_usage_) {
    Json totals = head(names_.chunk_object);
    totals["choices"] = Json::array();
    totals["usage"] = openai_usage(usage);
    totals["hearth"] = timings(usage);
    out += sse_data(totals);
  }
  out += sse_done;
  return out;
}

std::string OpenAiEncoder::error_frame(const Error& error) const {
  return sse_data(openai_error(error));
}

std::string OpenAiEncoder::ping() const { return std::string(sse_keep_alive); }

Json OpenAiEncoder::body(const Usage& usage) const {
  Json out = head(names_.object);
  out["choices"] = Json::array();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    Json choice{{"index", i}};
    choice.update(whole(choices_[i]));
    choice["finish_reason"] = choices_[i].finish_reason;
    out["choices"].push_back(std::move(choice));
  }
  out["usage"] = openai_usage(usage);
  out["hearth"] = timings(usage);
  return out;
}

Json OpenAiEncoder::head(std::string_view object) const {
  Json out{{"id", id_}, {"object", object}, {"created", info_.created}, {"model", info_.model}};
  out["system_fingerprint"] = info_.fingerprint;
  if (!service_tier_.empty()) out["service_tier"] = service_tier_;
  return out;
}

Json OpenAiEncoder::chunk(int index, Json choice) const {
  Json indexed{{"index", index}};
  indexed.update(choice);
  Json out = head(names_.chunk_object);
  out["choices"] = Json::array({std::move(indexed)});
  if (include_usage_ && names_.null_usage) out["usage"] = nullptr;
  return out;
}

}  // namespace hearth::services
