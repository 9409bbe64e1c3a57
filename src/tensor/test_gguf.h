// For tests: GGUF files written field by field, right or wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/test_files.h"

namespace hearth::tensor {

/// Value types of GGUF metadata.
enum class Meta : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

/// Ids of tensor types, as ggml numbers them.
constexpr std::uint32_t f32 = 0, f16 = 1, q4_0 = 2, q8_0 = 8, q6_k = 14, iq4_xs = 23, bf16 = 30;

inline std::string gguf_string(std::string_view text) {
  return raw(static_cast<std::uint64_t>(text.size())) + std::string(text);
}

class GgufBytes {
 public:
  std::uint32_t magic = 0x46554747, version = 3;
  std::uint64_t alignment = 32;

  /// A key with the bytes of its value.
  GgufBytes& key(std::string_view name, Meta type, std::string value) {
    keys_.push_back(gguf_string(name) + raw(static_cast<std::uint32_t>(type)) + std::move(value));
    return *this;
  }
  GgufBytes& text(std::string_view name, std::string_view value) {
    return key(name, Meta::string, gguf_string(value));
  }
  GgufBytes& number(std::string_view name, std::uint32_t value) {
    return key(name, Meta::u32, raw(value));
  }
  GgufBytes& real(std::string_view name, float value) { return key(name, Meta::f32, raw(value)); }

  /// A tensor of these bytes; dims innermost first, as GGUF has them.
  GgufBytes& tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                    std::string_view data) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    info(name, std::move(dims), type, data_.size());
    data_ += data;
    return *this;
  }
  /// An info alone, whatever it claims.
  GgufBytes& info(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                  std::uint64_t offset) {
    std::string out = gguf_string(name) + raw(static_cast<std::uint32_t>(dims.size()));
    for (const auto dim : dims) out += raw(dim);
    infos_.push_back(out + raw(type) + raw(offset));
    return *this;
  }
  GgufBytes& data(std::string_view bytes) {
    data_ += bytes;
    return *this;
  }

  std::string header() const {
    std::string out = raw(magic) + raw(version) + raw(static_cast<std::uint64_t>(infos_.size())) +
                      raw(static_cast<std::uint64_t>(keys_.size()));
    for (const auto& key : keys_) out += key;
    for (const auto& info : infos_) out += info;
    return out;
  }
  std::string bytes() const {
    std::string out = header();
    if (infos_.empty()) return out;
    out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
    return out + data_;
  }

 private:
  std::vector<std::string> keys_, infos_;
  std::string data_;
};

}  // namespace hearth::tensor
