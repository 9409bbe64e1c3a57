// What the benchmarks beside the code share.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <vector>

namespace hearth::bench {

/// Processor seconds of this process so far.
inline double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// The upper one of an even number. @param values  not empty
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace hearth::bench
