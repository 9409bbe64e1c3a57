#include "cli/memory.h"

#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/file.h"
#include "services/model.h"

namespace hearth::cli {
namespace {

/// The first number in a text.
std::optional<std::uint64_t> number_in(std::string_view text) {
  const auto at = text.find_first_of("0123456789");
  if (at == text.npos) return std::nullopt;
  std::uint64_t value = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

std::optional<std::uint64_t> number_in_file(const char* path) {
  const auto text = read_file(path);
  return text ? number_in(*text) : std::nullopt;
}

/// MemAvailable of Linux, in bytes.
std::optional<std::uint64_t> available() {
  const auto info = read_file("/proc/meminfo");
  if (!info) return std::nullopt;
  constexpr std::string_view name = "MemAvailable:";
  const auto at = info->find(name);
  if (at == info->npos) return std::nullopt;
  const auto kib = number_in(std::string_view(*info).substr(at + name.size()));
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

}  // namespace

std::uint64_t free_memory() {
  auto free = available().value_or(main_memory() / 2);
  // Version 2 of control groups, as a container sees its own; "max" is no number.
  const auto limit = number_in_file("/sys/fs/cgroup/memory.max");
  const auto used = number_in_file("/sys/fs/cgroup/memory.current");
  if (limit && used) free = std::min(free, *limit > *used ? *limit - *used : 0);
  return std::min(free, main_memory());
}

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
