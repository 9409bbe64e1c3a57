#include "tensor/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>

namespace hearth::tensor {
namespace mx = mlx::core;
namespace {

std::size_t elements(const mx::Shape& shape) {
  std::size_t n = 1;
  for (const auto dim : shape) n *= static_cast<std::size_t>(dim);
  return n;
}

/// Bytes between the start of one of MLX's CPU buffers and its data: room for its size.
constexpr std::size_t buffer_head = sizeof(std::size_t);

/// Whether a Buffer is a pointer `buffer_head` before its data, as in MLX's CPU allocator. The
/// allocators of CUDA and Metal hold their own handles instead.
bool buffers_are_plain_pointers() {
  static const bool plain = [] {
    const auto data = mx::allocator::malloc(64);
    auto buffer = data.buffer();
    return static_cast<char*>(buffer.raw_ptr()) == static_cast<char*>(buffer.ptr()) + buffer_head;
  }();
  return plain;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const auto failed = [&](int why) {
    return fail(why == ENOENT || why == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                fmt::format("{}: {}", path.string(), std::strerror(why)));
  };
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed(errno);
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int why = errno;
    ::close(fd);
    return failed(why);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return fail(ErrorCode::io,
                fmt::format("{}: is {}, expected a file", path.string(),
                            S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe"));
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int why = errno;
    ::close(fd);
    if (data == MAP_FAILED) return failed(why);
  } else {
    ::close(fd);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const std::uint8_t*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

Array fresh_array(mx::Shape shape, mx::Dtype dtype) {
  auto data = mx::allocator::malloc(elements(shape) * mx::size_of(dtype));
  return Array(std::move(data), std::move(shape), dtype);
}

Array mapped_array(std::shared_ptr<const MappedFile> file, std::size_t offset, mx::Shape shape,
                   mx::Dtype dtype) {
  const std::size_t bytes = elements(shape) * mx::size_of(dtype);
  assert(offset >= buffer_head && offset + bytes <= file->bytes().size());
  const std::uint8_t* data = file->bytes().data() + offset;
  if (bytes > 0 && offset % mx::size_of(dtype) == 0 && buffers_are_plain_pointers()) {
    const mx::allocator::Buffer buffer(const_cast<std::uint8_t*>(data) - buffer_head);
    return Array(mx::allocator::Data(buffer, [file](mx::allocator::Buffer) {}), std::move(shape),
                 dtype);
  }
  Array copy = fresh_array(std::move(shape), dtype);
  if (bytes > 0) std::memcpy(copy.data<std::uint8_t>(), data, bytes);
  return copy;
}

}  // namespace hearth::tensor
