// For tests of the wires: events by hand, frames apart.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/chat/protocol.h"
#include "services/chat/scripted_model.h"

namespace hearth::services::testing {

inline ReplyInfo reply_info(int prompt_tokens = 9) {
  static const ByteTokenizer tokenizer;
  return {.model = "tiny",
          .fingerprint = "fp_00000001",
          .created = 1700000000,
          .tokenizer = &tokenizer,
          .prompt_tokens = prompt_tokens};
}

/// The request of a body; an empty one, and a failure, where the protocol refuses it.
inline Request asked(const Protocol& protocol, const std::string& body) {
  auto request = protocol.parse(Json::parse(body), "tiny");
  EXPECT_TRUE(request) << request.error().message;
  return request ? *request : Request{};
}

inline Event text(std::string words) { return TextDelta{.text = std::move(words), .tokens = {}}; }
inline Event reasoning(std::string words) {
  return ReasoningDelta{.text = std::move(words), .tokens = {}};
}
inline Event call(std::string id, std::string name, std::string arguments, int index = 0) {
  return ToolCall{index, std::move(id), std::move(name), std::move(arguments), {}};
}
inline Event finished(engine::FinishReason reason = engine::FinishReason::stop, int tool_calls = 0,
                      std::string stop_sequence = {}) {
  Finished end;
  end.reason = reason;
  end.tool_calls = tool_calls;
  end.stop_sequence = std::move(stop_sequence);
  return end;
}

/// 9 prompt tokens, 4 of them cached, 7 of the answer, 3 of those reasoning.
inline Usage some_usage() {
  Usage usage;
  usage.prompt_tokens = 9;
  usage.cached_tokens = 4;
  usage.completion_tokens = 7;
  usage.reasoning_tokens = 3;
  return usage;
}

/// JSON of each frame of a stream, events without names among them.
inline std::vector<Json> frames_of(const std::string& stream) {
  std::vector<Json> frames;
  const std::string mark = "data: ";
  for (auto at = stream.find(mark); at != stream.npos; at = stream.find(mark, at)) {
    at += mark.size();
    frames.push_back(Json::parse(stream.substr(at, stream.find('\n', at) - at)));
  }
  return frames;
}

/// Everything that a streamed answer sends.
inline std::string streamed(const Protocol& protocol, const Request& asked,
                            const std::vector<Event>& events, const Usage& usage = some_usage()) {
  Request request = asked;
  request.stream = true;
  const auto encoder = protocol.encoder(request, reply_info());
  std::string out = encoder->begin({});
  for (const Event& event : events) out += encoder->frames({0, event});
  return out + encoder->end(usage);
}

/// The body of an answer that is not streamed.
inline Json whole(const Protocol& protocol, const Request& asked, const std::vector<Event>& events,
                  const Usage& usage = some_usage()) {
  Request request = asked;
  request.stream = false;
  const auto encoder = protocol.encoder(request, reply_info());
  std::string sent = encoder->begin({});
  for (const Event& event : events) sent += encoder->frames({0, event});
  return sent.empty() ? encoder->body(usage) : Json("frames of an answer that is not streamed");
}

}  // namespace hearth::services::testing
