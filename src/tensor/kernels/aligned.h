// Memory at the start of a cache line.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace hearth::kernels {

struct FreeAligned {
  void operator()(void* p) const { std::free(p); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;

/// @return zeroed memory, 64-byte aligned
/// @throws std::bad_alloc
inline AlignedBytes aligned_bytes(std::size_t bytes) {
  constexpr std::size_t line = 64;
  const std::size_t rounded = (bytes + line - 1) / line * line + line;  // never none
  void* p = std::aligned_alloc(line, rounded);
  if (p == nullptr) throw std::bad_alloc();
  std::memset(p, 0, rounded);
  return AlignedBytes(static_cast<std::byte*>(p));
}

/// Scratch of one thread that grows and stays: what was in it is lost at the next call.
/// @tparam Use  a type that names the use, so that two uses do not share memory
template <class Use>
std::byte* scratch(std::size_t bytes) {
  thread_local AlignedBytes memory;
  thread_local std::size_t size = 0;
  if (bytes > size) {
    memory.reset();
    memory = aligned_bytes(bytes);
    size = bytes;
  }
  return memory.get();
}

}  // namespace hearth::kernels
