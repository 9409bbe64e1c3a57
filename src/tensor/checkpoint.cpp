#include "tensor/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/file.h"
#include "tensor/gguf.h"
#include "tensor/safetensors.h"

namespace hearth::tensor {
namespace {

using Shards = std::map<std::string, SafetensorsFile>;  // by file name

constexpr const char* index_name = "model.safetensors.index.json";

Error incomplete(const fs::path& missing, std::string_view why) {
  return {ErrorCode::not_found,
          fmt::format("{}: missing, {}; the model is incomplete: download it again",
                      missing.string(), why)};
}

/// Tensor names to shard file names, as the index has them.
Result<std::map<std::string, std::string>> read_index(const fs::path& path) {
  const auto corrupt = [&](std::string what) {
    return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", path.string(), what));
  };
  const auto index = read_json_file(path);
  if (!index) return fail(index.error());
  if (!index->is_object() || !index->contains("weight_map") ||
      !(*index)["weight_map"].is_object()) {
    return corrupt("no object weight_map");
  }
  std::map<std::string, std::string> map;
  for (const auto& [tensor, shard] : (*index)["weight_map"].items()) {
    if (!shard.is_string()) return corrupt(fmt::format("the shard of {} is no string", tensor));
    const auto& name = shard.get_ref<const std::string&>();
    if (name.empty() || name == "." || name == ".." || fs::path(name).filename() != name) {
      return corrupt(
          fmt::format("the shard of {} is '{}', expected a file of the same folder", tensor, name));
    }
    map.emplace(tensor, name);
  }
  if (map.empty()) return corrupt("weight_map names no tensor");
  return map;
}

/// Whether `name` is model*.safetensors.
bool is_weight_file(const std::string& name) {
  return name.starts_with("model") && name.ends_with(".safetensors");
}

/// A name left behind by a download that was cut off.
bool is_leftover(const std::string& name) {
  return name.ends_with(".incomplete") || name.ends_with(".part") || name.ends_with(".download");
}

/// K of "model-00002-of-0000K.safetensors".
std::optional<int> shard_total(const std::string& name) {
  const auto at = name.rfind("-of-");
  if (at == std::string::npos) return {};
  int total = 0;
  const char* end = name.data() + name.size() - std::string_view(".safetensors").size();
  const auto [stop, error] = std::from_chars(name.data() + at + 4, end, total);
  if (error != std::errc() || stop != end || total < 1) return {};
  return total;
}

/// Without an index: every model*.safetensors, whose names must make a whole set.
Result<std::vector<std::string>> list_weights(const fs::path& folder) {
  std::vector<std::string> names;
  std::string leftover;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const auto name = it->path().filename().string();
    if (is_weight_file(name)) names.push_back(name);
    if (is_leftover(name)) leftover = name;
  }
  if (ec) return fail(ErrorCode::io, fmt::format("{}: {}", folder.string(), ec.message()));
  std::ranges::sort(names);
  if (names.empty() && !leftover.empty()) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: incomplete: the download of the weights did not finish",
                            (folder / leftover).string()));
  }
  if (names.empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("{}: no model*.safetensors in this folder", folder.string()));
  }
  const auto total = shard_total(names.front());
  if (total && names.size() < static_cast<std::size_t>(*total)) {
    const std::string ending = names.front().substr(names.front().rfind("-of-"));
    for (int i = 1; i <= *total; ++i) {
      const std::string name = fmt::format("model-{:05}{}", i, ending);
      if (!std::ranges::binary_search(names, name)) {
        return fail(incomplete(folder / name, fmt::format("one of {} shards", *total)));
      }
    }
  }
  return names;
}

Result<void> open_shard(const fs::path& path, std::string_view why_expected, Shards& shards) {
  auto file = SafetensorsFile::open(path);
  if (!file && file.error().code == ErrorCode::not_found)
    return fail(incomplete(path, why_expected));
  if (!file) return fail(file.error());
  shards.emplace(path.filename().string(), std::move(*file));
  return {};
}

Result<Shards> open_indexed(const fs::path& folder) {
  const auto map = read_index(folder / index_name);
  if (!map) return fail(map.error());
  Shards shards;
  for (const auto& [tensor, name] : *map) {
    if (!shards.contains(name)) {
      if (auto opened = open_shard(folder / name, fmt::format("named by {}", index_name), shards);
          !opened) {
        return fail(opened.error());
      }
    }
    if (!shards.at(name).entries().contains(tensor)) {
      return fail(ErrorCode::corrupt_file,
                  fmt::format("{}: tensor {} is not in it, though {} says so",
                              (folder / name).string(), tensor, index_name));
    }
  }
  return shards;
}

Result<Shards> open_listed(const fs::path& folder) {
  const auto names = list_weights(folder);
  if (!names) return fail(names.error());
  Shards shards;
  for (const auto& name : *names) {
    if (auto opened = open_shard(folder / name, "listed a moment ago", shards); !opened) {
      return fail(opened.error());
    }
  }
  return shards;
}

Result<Checkpoint> load_folder(const fs::path& folder) {
  auto config = read_json_file(folder / "config.json");
  if (!config) return fail(config.error());
  if (!config->is_object()) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: not a JSON object", (folder / "config.json").string()));
  }
  std::error_code ec;
  auto shards = fs::exists(folder / index_name, ec) ? open_indexed(folder) : open_listed(folder);
  if (!shards) return fail(shards.error());

  Checkpoint out{.config = std::move(*config)};
  std::size_t converted = 0;
  for (const auto& [file_name, file] : *shards) {
    for (const auto& [name, entry] : file.entries()) {
      auto array = file.array(name);
      if (!array) return fail(array.error());
      if (!out.tensors.emplace(name, std::move(*array)).second) {
        return fail(ErrorCode::corrupt_file, fmt::format("{}: tensor {} is in another shard too",
                                                         (folder / file_name).string(), name));
      }
      out.bytes += entry.bytes;
      converted += entry.dtype == "F64";
    }
  }
  if (converted > 0) {
    out.notes.push_back(fmt::format("{} F64 tensors converted to float32", converted));
  }
  return out;
}

}  // namespace

Result<Checkpoint> load_checkpoint(const fs::path& model) {
  std::error_code ec;
  const auto status = fs::status(model, ec);
  if (!fs::exists(status)) {
    return fail(ErrorCode::not_found, fmt::format("{}: no such file or folder", model.string()));
  }
  if (fs::is_directory(status)) return load_folder(model);
  if (model.extension() == ".gguf") return load_gguf(model);
  return fail(
      ErrorCode::unsupported,
      fmt::format("{}: expected a folder with config.json, or a .gguf file", model.string()));
}

}  // namespace hearth::tensor
