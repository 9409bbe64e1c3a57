#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

TEST(Histogram, buckets_count_all_that_is_below_them) {
  Histogram histogram({0.1, 1});
  for (const double seconds : {0.05, 0.1, 0.5, 7.0}) histogram.add(seconds);
  std::string out;
  histogram.print("t", "Time.", out);
  EXPECT_EQ(out,
            "# HELP t Time.\n# TYPE t histogram\nt_bucket{le=\"0.1\"} 2\nt_bucket{le=\"1\"} 3\n"
            "t_bucket{le=\"+Inf\"} 4\nt_sum 7.65\nt_count 4\n");
}

TEST(Metrics, print_counters_with_labels_and_gauges) {
  Metrics metrics;
  metrics.requests[{"/health", 200}] = 3;
  metrics.completion_tokens = 11;
  const auto out = metrics.print({.rows_active = 2});
  EXPECT_THAT(out, HasSubstr("hearth_requests_total{route=\"/health\",status=\"200\"} 3\n"));
  EXPECT_THAT(out, HasSubstr("# TYPE hearth_completion_tokens_total counter\n"
                             "hearth_completion_tokens_total 11\n"));
  EXPECT_THAT(out, HasSubstr("hearth_rows_active 2\n"));
  EXPECT_THAT(out, HasSubstr("hearth_answers_total{outcome=\"cancelled\"} 0\n"));
}

TEST(Metrics, a_models_name_cannot_break_the_format) {
  const auto out = Metrics().print({.model = "a\"b\\c\nd"});
  EXPECT_THAT(out, HasSubstr(R"(model="a\"b\\c\nd"} 1)"));
}

}  // namespace
}  // namespace hearth::server
