// For tests: a scratch folder and safetensors files written byte by byte, right or wrong.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/file.h"

namespace hearth::tensor {

/// A folder of its own, removed with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    static std::atomic<int> count = 0;
    path_ = fs::temp_directory_path() /
            ("hearth-tensor-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    fs::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ec;
    fs::remove_all(path_, ec);
  }

  const fs::path& path() const { return path_; }
  fs::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return path_ / name;
  }

 private:
  fs::path path_;
};

/// The bytes of a little-endian number.
template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

/// A file of this header and data, whatever they say.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return raw(static_cast<std::uint64_t>(header.size())) + std::string(header) + std::string(data);
}

}  // namespace hearth::tensor
