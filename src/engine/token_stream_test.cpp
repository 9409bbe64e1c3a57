#include "engine/token_stream.h"

#include <gtest/gtest.h>

#include <thread>

namespace hearth::engine {
namespace {

TEST(TokenStream, DeliversInOrderAcrossThreads) {
  TokenStream stream;
  std::jthread engine([&] {
    for (int i = 0; i < 1000; ++i) stream.push(Sampled{.id = i});
    stream.push(Finish{.reason = FinishReason::length});
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(std::get<Sampled>(stream.pop()).id, i);
  EXPECT_EQ(std::get<Finish>(stream.pop()).reason, FinishReason::length);
  EXPECT_FALSE(stream.try_pop());
}

TEST(TokenStream, AReaderThatStopsReadingIsCancelledAndStillGetsItsFinish) {
  TokenStream stream(/*capacity=*/2);
  for (int i = 0; i < 3; ++i) stream.push(Sampled{.id = i});
  EXPECT_TRUE(stream.cancelled());
  stream.push(Finish{.reason = FinishReason::cancelled});
  stream.pop();
  stream.pop();
  EXPECT_EQ(std::get<Finish>(stream.pop()).reason, FinishReason::cancelled);
}

TEST(TokenStream, TellsALateReaderThatSomethingWaits) {
  TokenStream stream;
  stream.push(Sampled{.id = 1});
  int calls = 0;
  stream.on_ready([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  stream.push(Sampled{.id = 2});
  EXPECT_EQ(calls, 2);
  stream.on_ready(nullptr);
  stream.push(Sampled{.id = 3});
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace hearth::engine
