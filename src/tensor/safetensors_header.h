// The JSON header of a safetensors file as plain values: structure only.
// Leaves out whether offsets and shapes make sense (safetensors.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hearth::tensor {

struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // data_offsets
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;             // in the order written
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

/// Reads the header in one pass, in time and memory linear in its length.
/// Errors: corrupt_file for text that is not JSON of the expected form: a missing or mistyped
/// field, a number that is no unsigned 64-bit integer, a name used twice. Unknown fields of an
/// entry are skipped, as the reference reader does.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json);

}  // namespace hearth::tensor
