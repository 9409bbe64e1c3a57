// One .gguf file, mapped: metadata and tensor infos, checked whole before any data is touched.
// Leaves out what the tensors become (gguf_import.cpp).
// Format: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3, little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/gguf_types.h"
#include "tensor/mapped_file.h"

namespace hearth::tensor {

struct GgufTensor {
  const GgufTypeInfo* type;
  std::vector<std::int64_t> shape;  // rows outermost, so [N, K] for a matrix; 1 to 4 dimensions
  std::uint64_t offset;             // from the start of the file
  std::uint64_t bytes;

  std::int64_t row_length() const { return shape.back(); }
  std::int64_t rows() const;  // of row_length() weights
};

class GgufFile {
 public:
  /// Errors: not_found, io; unsupported for version 1 and big-endian files; corrupt_file naming
  /// file and key or tensor: counts beyond the file, duplicates, unknown types, misaligned,
  /// overlapping or overflowing tensors, and "incomplete" with the sizes where the file is cut
  /// short.
  static Result<GgufFile> open(const std::filesystem::path& path);

  const Json& metadata() const { return metadata_; }
  const std::map<std::string, GgufTensor>& tensors() const { return tensors_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  std::span<const std::uint8_t> bytes_of(const GgufTensor& tensor) const {
    return file_->bytes().subspan(tensor.offset, tensor.bytes);
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  Json metadata_ = Json::object();
  std::map<std::string, GgufTensor> tensors_;
};

}  // namespace hearth::tensor
