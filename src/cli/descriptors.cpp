#include "cli/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace hearth::cli {

long raise_descriptor_limit() {
  constexpr rlim_t wanted = 10240;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::max(before, std::min(limit.rlim_max, wanted));
  return long(setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before);
}

}  // namespace hearth::cli
