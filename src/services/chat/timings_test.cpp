#include "services/chat/timings.h"

#include <gtest/gtest.h>

namespace hearth::services {
namespace {

TEST(Timings, rates_are_of_the_tokens_that_took_the_time) {
  Usage usage;
  usage.prompt_tokens = 100;
  usage.cached_tokens = 60;
  usage.completion_tokens = 11;
  usage.decoded_tokens = 10;
  usage.queue_seconds = 0.0015;
  usage.prefill_seconds = 0.25;
  usage.decode_seconds = 2;
  usage.first_token_seconds = 0.2561239;
  EXPECT_EQ(timings(usage).dump(),
            R"({"queue_ms":1.5,"ttft_ms":256.124,"prefill_tps":160.0,"decode_tps":5.0})");
}

TEST(Timings, what_never_happened_is_null) {
  EXPECT_EQ(timings({}).dump(),
            R"({"queue_ms":0.0,"ttft_ms":null,"prefill_tps":null,"decode_tps":null})");
}

}  // namespace
}  // namespace hearth::services
