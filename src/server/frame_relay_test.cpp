#include "server/frame_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const Error gone{ErrorCode::engine_lost, "the worker is gone", ""};

TEST(FrameRelay, HalfAFrameWaitsForItsOtherHalf) {
  FrameRelay relay(services::openai_chat);
  EXPECT_EQ(relay.take("data: {\"a\""), "");
  EXPECT_EQ(relay.take(":1}\n\ndata: {}\n"), "data: {\"a\":1}\n\n");
  EXPECT_EQ(relay.take("\n"), "data: {}\n\n");
}

TEST(FrameRelay, LinesAreTheFramesOfOllama) {
  FrameRelay relay(services::ollama_chat);
  EXPECT_EQ(relay.take("{\"done\":false}\n{\"do"), "{\"done\":false}\n");
  EXPECT_EQ(relay.failure(gone), "{\"error\":\"the worker is gone\"}\n");
}

TEST(FrameRelay, TheEndIsToldInTheProtocolsWords) {
  EXPECT_THAT(FrameRelay(services::openai_chat).failure(gone),
              StartsWith("data: {\"error\":{\"message\":\"the worker is gone\""));
  EXPECT_THAT(FrameRelay(services::openai_chat).failure(gone), HasSubstr("engine_unavailable"));
  EXPECT_THAT(FrameRelay(services::anthropic_messages).failure(gone),
              StartsWith("event: error\ndata: {\"type\":\"error\""));
}

TEST(FrameRelay, ResponsesGoOnCountingAndFailTheResponseThatBegan) {
  FrameRelay relay(services::openai_responses);
  relay.take(
      "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,"
      "\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\"}}\n\n"
      "event: response.output_text.delta\ndata: {\"type\":\"x\",\"sequence_number\":7}\n\n");
  const std::string end = relay.failure(gone);
  EXPECT_THAT(end, StartsWith("event: error\ndata: {\"type\":\"error\",\"sequence_number\":8,"));
  EXPECT_THAT(end, HasSubstr("event: response.failed\ndata: {\"type\":\"response.failed\","
                             "\"sequence_number\":9,\"response\":{\"id\":\"resp_1\","
                             "\"status\":\"failed\""));
  EXPECT_TRUE(relay.finished().is_null());
}

TEST(FrameRelay, TheFinishedResponseIsKept) {
  FrameRelay relay(services::openai_responses);
  relay.take(
      "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":3,"
      "\"response\":{\"id\":\"resp_1\"}}\n\n");
  EXPECT_EQ(relay.finished()["id"], "resp_1");
}

}  // namespace
}  // namespace hearth::server
