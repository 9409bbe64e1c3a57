// Blocks without a model, for tests.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "engine/prompt_cache/cached_block.h"

namespace hearth::engine {

/// Bytes that stand for a layer's keys and values.
class FakeBlock final : public tensor::KvBlock {
 public:
  FakeBlock(std::size_t bytes, unsigned char fill) : bytes_(bytes, std::byte(fill)) {}
  explicit FakeBlock(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}
  std::string format() const override { return "fake"; }
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  const std::vector<std::byte> bytes_;
};

/// A part of two layers, `bytes` in all.
inline PartPtr part_of(std::size_t bytes, unsigned char fill = 0) {
  return std::make_shared<PartBlocks>(
      std::vector<tensor::KvBlockPtr>{std::make_shared<FakeBlock>(bytes / 2, fill),
                                      std::make_shared<FakeBlock>(bytes - bytes / 2, fill + 1)});
}

/// A name for a folder of one test, which is removed with what is in it.
struct TestFolder {
  TestFolder() {
    static std::atomic<int> count{0};
    path = std::filesystem::temp_directory_path() /
           fmt::format("hearth-blocks-{}-{}", ::getpid(), ++count);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TestFolder(const TestFolder&) = delete;

  std::filesystem::path path;
};

}  // namespace hearth::engine
