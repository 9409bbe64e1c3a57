#include "cli/memory.h"

#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "services/model.h"

namespace hearth::cli {

std::uint64_t main_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t model_memory() { return engine::backend().memory_bytes; }

void keep_one_heap() {
#ifdef __GLIBC__
  ::mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace hearth::cli
