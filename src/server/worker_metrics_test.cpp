#include "server/worker_metrics.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

const std::string one =
    "# HELP a A.\n# TYPE a counter\na{k=\"x\"} 1\na{k=\"y\"} 2\n# HELP b B.\n# TYPE b gauge\nb "
    "0.5\n";
const std::string other =
    "# HELP b B.\n# TYPE b gauge\nb 0.25\n# HELP a A.\n# TYPE a counter\na{k=\"y\"} 3\na{k=\"z\"} "
    "4\n";

TEST(SummedMetrics, SamplesAreAddedByNameAndLabels) {
  EXPECT_EQ(summed_metrics({one, other}, ""),
            "# HELP a A.\n# TYPE a counter\na{k=\"x\"} 1\na{k=\"y\"} 5\na{k=\"z\"} 4\n"
            "# HELP b B.\n# TYPE b gauge\nb 0.75\n");
}

TEST(SummedMetrics, FamiliesOfOnesOwnAreLeftOut) {
  EXPECT_EQ(summed_metrics({one}, "# HELP a A.\n"), "# HELP b B.\n# TYPE b gauge\nb 0.5\n");
}

TEST(SummedMetrics, LargeCountsKeepTheirDigits) {
  EXPECT_EQ(summed_metrics({"# HELP a A.\na 12345678901\n"}, ""), "# HELP a A.\na 12345678901\n");
}

}  // namespace
}  // namespace hearth::server
