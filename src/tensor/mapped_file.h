// A file seen as memory: nothing is read before it is touched.
// Leaves out what the bytes mean (safetensors.h, gguf.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"
#include "mlx/mlx.h"

namespace hearth::tensor {

using Array = mlx::core::array;

/// A read-only private mapping of a whole regular file, unmapped with its last owner.
/// Every offset read off the file must be checked against bytes().size() first. The size is the one
/// at open: a file that another program cuts short afterwards raises SIGBUS when touched.
class MappedFile {
 public:
  /// Errors: not_found, io (no permission, a folder, a pipe); the message names the path.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, const std::uint8_t* data, std::size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::filesystem::path path_;
  const std::uint8_t* data_;
  std::size_t size_;
};

/// An array over `file` from `offset` on, in C order. It keeps the mapping alive, is ready at once
/// on every thread, and is never written to (MLX donates only buffers that it owns).
/// Copies where the offset is not a multiple of the element's size, or where MLX's allocator cannot
/// view foreign memory (the GPU packs).
/// @pre offset >= 8, and the array's bytes lie within the file
Array mapped_array(std::shared_ptr<const MappedFile> file, std::size_t offset,
                   mlx::core::Shape shape, mlx::core::Dtype dtype);

/// An array of its own memory, not yet filled; write it through data<T>() before sharing it.
Array fresh_array(mlx::core::Shape shape, mlx::core::Dtype dtype);

}  // namespace hearth::tensor
