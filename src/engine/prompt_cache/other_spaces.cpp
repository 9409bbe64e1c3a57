#include "engine/prompt_cache/other_spaces.h"

#include <algorithm>

#include "base/file.h"
#include "engine/prompt_cache/disk_index.h"

namespace hearth::engine {
namespace {

/// Calls `visit` with each entry of a folder, as far as it can be read.
template <class Visit>
void each_entry(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    visit(*it);
  }
}

}  // namespace

void OtherSpaces::look() {
  files_.clear();
  bytes_ = 0;
  each_entry(folder_, [&](const fs::directory_entry& space) {
    if (space.path().filename() == own_) return;
    each_entry(space.path(), [&](const fs::directory_entry& file) {
      std::error_code gone;
      const auto size = file.file_size(gone);
      if (gone || !parse_file_name(file.path().filename().string())) return;
      files_.push_back({last_used(file.path()), std::size_t(size), file.path()});
      bytes_ += size;
    });
  });
  std::ranges::sort(files_);
}

std::optional<std::int64_t> OtherSpaces::oldest() const {
  return files_.empty() ? std::nullopt : std::optional(files_.front().used);
}

void OtherSpaces::drop_oldest() {
  std::error_code ignored;
  fs::remove(files_.front().path, ignored);
  bytes_ -= files_.front().bytes;
  files_.pop_front();
}

}  // namespace hearth::engine
