#include "engine/prompt_cache/fingerprint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/file.h"
#include "engine/prompt_cache/block_key.h"
#include "tensor/kernels/kernels.h"

namespace hearth::engine {
namespace {

constexpr int format_version = 1;                        // of blocks
constexpr std::size_t sampled = std::size_t{256} << 10;  // bytes of each end of a file

/// Those of a model's files that `wanted` picks, or the one that it is.
std::vector<fs::path> files_of(const fs::path& model, bool (*wanted)(const fs::path&)) {
  std::error_code error;
  if (!fs::is_directory(model, error)) return {model};
  std::vector<fs::path> files;
  for (auto it = fs::directory_iterator(model, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (wanted(it->path())) files.push_back(it->path());
  }
  std::ranges::sort(files);
  return files;
}

bool is_of_model(const fs::path& path) {
  return path.extension() == ".safetensors" || path.filename() == "config.json";
}

bool is_of_tokenizer(const fs::path& path) {
  return path.filename().string().starts_with("tokenizer");
}

std::string ends_of(const fs::path& file, std::uintmax_t size) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes(std::min<std::uintmax_t>(size, 2 * sampled), '\0');
  const std::size_t front = std::min(bytes.size(), sampled);
  in.read(bytes.data(), std::streamsize(front));
  in.seekg(std::streamoff(size - (bytes.size() - front)));
  in.read(bytes.data() + front, std::streamsize(bytes.size() - front));
  return bytes;
}

std::string describe(const fs::path& file) {
  std::error_code ignored;
  const auto size = fs::file_size(file, ignored);
  const auto changed = fs::last_write_time(file, ignored).time_since_epoch().count();
  const auto bytes = ends_of(file, ignored ? 0 : size);
  return fmt::format("{} {} {} {:016x}\n", file.filename().string(), size, changed,
                     XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace

std::string fingerprint(const fs::path& model, const EngineOptions& options, bool kernels) {
  const bool l1 = options.tier == Tier::l1;
  const auto backend = engine::backend();
  std::string text = fmt::format("blocks {} tier {} chunk {} kernels {} mlx {} {} {}\n",
                                 format_version, l1 ? "l1" : "fast", l1 ? options.prefill_chunk : 0,
                                 kernels ? backend.simd : "none", backend.mlx_version, backend.pack,
                                 backend.device);
  for (const auto& file : files_of(model, is_of_model)) text += describe(file);
  return to_string(root_key(text));
}

std::string tokenizer_fingerprint(const fs::path& model) {
  std::string text;
  for (const auto& file : files_of(model, is_of_tokenizer)) text += describe(file);
  return text;
}

}  // namespace hearth::engine
