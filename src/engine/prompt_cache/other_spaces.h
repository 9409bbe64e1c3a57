// The block files of other models in a folder that many share: they count towards its budget, and
// leave like one's own when they were used longest ago.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>

namespace hearth::engine {

/// Of one thread.
class OtherSpaces {
 public:
  /// @param folder  of all namespaces; @param own  the one that does not count
  OtherSpaces(std::filesystem::path folder, std::string own)
      : folder_(std::move(folder)), own_(std::move(own)) {}

  /// Looks through the folder.
  void look();
  std::size_t bytes() const { return bytes_; }
  /// When the file that was used longest ago was; none: there is none.
  std::optional<std::int64_t> oldest() const;
  /// Deletes that file. Its model, if it runs, computes the block again.
  void drop_oldest();

 private:
  struct File {
    std::int64_t used = 0;
    std::size_t bytes = 0;
    std::filesystem::path path;
    auto operator<=>(const File&) const = default;
  };

  const std::filesystem::path folder_;
  const std::string own_;
  std::deque<File> files_;  // the oldest first
  std::size_t bytes_ = 0;
};

}  // namespace hearth::engine
