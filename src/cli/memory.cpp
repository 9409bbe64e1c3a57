#include "cli/memory.h"

#include <unistd.h>

#include "services/model.h"

namespace hearth::cli {

std::uint64_t main_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t model_memory() { return engine::backend().memory_bytes; }

}  // namespace hearth::cli
