#include "services/chat/call_id.h"

#include <fmt/format.h>

#include <random>

namespace hearth::services {

std::string new_call_id() {
  thread_local std::mt19937_64 random{std::random_device{}() * 0x100000001ULL ^
                                      std::random_device{}()};
  return fmt::format("call_{:016x}{:08x}", random(), random() & 0xffffffff);
}

}  // namespace hearth::services
