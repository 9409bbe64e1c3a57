// Names, types and shapes of a safetensors file, from its header alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::services::hub {

struct ShardTensor {
  std::string name, dtype;
  std::int64_t elements = 0;  // product of the shape
  std::int64_t bytes = 0;
};

struct ShardHeader {
  std::vector<ShardTensor> tensors;
  std::int64_t file_bytes = 0;
};

/// Reads the header and holds it against the file's size; no tensor data is read.
/// Errors: not_found and corrupt_file, both saying "incomplete" where a file is missing or cut
/// short; header over 100 MB; offsets outside the file, overlapping or with holes.
Result<ShardHeader> read_shard_header(const std::filesystem::path& file);

}  // namespace hearth::services::hub
