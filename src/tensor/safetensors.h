// One .safetensors file: its header, checked whole, and its tensors as views of the mapping.
// Leaves out folders of them (checkpoint.h) and writing.
// Format: github.com/huggingface/safetensors, README "Format".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/mapped_file.h"

namespace hearth::tensor {

class SafetensorsFile {
 public:
  struct Entry {
    std::string dtype;                // as written: "BF16"
    std::vector<std::int64_t> shape;  // each within int32; none for a scalar
    std::uint64_t offset;             // of the first byte, from the start of the file
    std::uint64_t bytes;
  };

  /// Maps the file and checks its header: no data page is read, so this takes microseconds.
  /// Errors: not_found, io, and corrupt_file naming file and tensor: a length beyond the file
  /// ("incomplete", with the sizes found and expected), JSON that is none, duplicate names, unknown
  /// dtypes, shapes whose bytes differ from the offsets', overlaps, gaps, bytes left over.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return file_->path(); }

  /// A view of the tensor (see mapped_array); F64 is converted to float32.
  /// Errors: not_found; unsupported for dtypes that MLX has no twin of (8-bit floats and below).
  Result<Array> array(const std::string& name) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// Bits of one element of a safetensors dtype; 0 for an unknown name.
int dtype_bits(std::string_view dtype);

}  // namespace hearth::tensor
