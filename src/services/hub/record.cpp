#include "services/hub/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <vector>

#include "base/file.h"
#include "services/hub/shard_header.h"

namespace hearth::services::hub {
namespace {

const Json& child(const Json& json, const char* key) {
  static const Json none;
  return json.is_object() && json.contains(key) ? json.at(key) : none;
}

int whole(const Json& json, const char* key) {
  const Json& value = child(json, key);
  if (!value.is_number_integer()) return 0;
  const auto number = value.get<std::int64_t>();
  return number < 0 || number > 1 << 30 ? 0 : static_cast<int>(number);
}

std::string text(const Json& json, const char* key) {
  const Json& value = child(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

bool is_there(const fs::path& path) {
  std::error_code ec;
  return fs::exists(path, ec);
}

void read_geometry(ModelRecord& record, const Json& config) {
  // Multimodal configs keep the language model's numbers one level down.
  const Json& nested = child(config, "text_config");
  const Json& c = nested.is_object() ? nested : config;
  record.num_layers = whole(c, "num_hidden_layers");
  record.hidden_size = whole(c, "hidden_size");
  record.vocab_size = whole(c, "vocab_size");
  record.max_positions = whole(c, "max_position_embeddings");
  const int heads = whole(c, "num_attention_heads");
  record.kv_heads = whole(c, "num_key_value_heads");
  if (record.kv_heads == 0) record.kv_heads = heads;
  record.head_dim = whole(c, "head_dim");
  if (record.head_dim == 0 && heads > 0) record.head_dim = record.hidden_size / heads;
  const auto vision = text(child(config, "vision_config"), "model_type");
  if (vision.ends_with("_vision")) record.vision_config_type = vision;
  record.has_audio_config = child(config, "audio_config").is_object();
  const Json& quantization = child(config, "quantization");
  record.quant_bits = whole(quantization, "bits");
  record.quant_group_size = whole(quantization, "group_size");
  record.quant_mode = text(quantization, "mode");
  if (record.quant_bits > 0 && record.quant_mode.empty()) record.quant_mode = "affine";
}

/// Files that hold the weights: those of the index, else every model*.safetensors.
std::set<std::string> weight_files(const fs::path& folder, ModelRecord& record) {
  std::set<std::string> files;
  if (const auto index = folder / "model.safetensors.index.json"; is_there(index)) {
    const auto json = read_json_file(index);
    if (!json) {
      record.error = json.error().message;
      return files;
    }
    for (const auto& [name, file] : child(*json, "weight_map").items()) {
      if (file.is_string()) files.insert(file.get<std::string>());
    }
  }
  if (!files.empty()) return files;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const auto name = entry.path().filename().string();
    const bool model = name.starts_with("model") || name.starts_with("weights");
    if (model && name.ends_with(".safetensors")) files.insert(name);
  }
  return files;
}

/// Weights that a stored matrix of packed words stands for: 32 / bits a word.
std::int64_t weights_of(const ShardTensor& tensor, const Json& quantization) {
  if (tensor.dtype != "U32") return tensor.elements;
  const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
  int bits = whole(child(quantization, module.c_str()), "bits");
  if (bits == 0) bits = whole(quantization, "bits");
  return bits > 0 ? tensor.elements * 32 / bits : tensor.elements;
}

void count_tensors(ModelRecord& record, const std::vector<ShardTensor>& tensors,
                   const Json& config) {
  const Json& quantization = child(config, "quantization");
  std::set<std::string> packed;
  for (const auto& tensor : tensors) {
    if (tensor.dtype == "U32") packed.insert(tensor.name.substr(0, tensor.name.rfind('.')));
  }
  std::map<std::string, std::int64_t> dtypes;
  for (const auto& tensor : tensors) {
    if (tensor.name.find(".experts.") != std::string::npos) record.experts_bytes += tensor.bytes;
    const auto dot = tensor.name.rfind('.');
    const auto leaf = tensor.name.substr(dot + 1);
    const bool part = leaf == "scales" || leaf == "biases";
    if (part && packed.contains(tensor.name.substr(0, dot))) continue;
    record.param_count += weights_of(tensor, quantization);
    dtypes[tensor.dtype] += tensor.bytes;
  }
  std::int64_t most = 0;
  for (const auto& [dtype, bytes] : dtypes) {
    if (bytes > most) record.dtype = dtype;
    most = std::max(most, bytes);
  }
}

void read_weights(ModelRecord& record, const fs::path& folder, const Json& config) {
  const auto files = weight_files(folder, record);
  if (!record.error.empty()) return;
  if (files.empty()) {
    record.error = fmt::format("{}: incomplete: no model*.safetensors here", folder.string());
    return;
  }
  std::vector<ShardTensor> tensors;
  for (const auto& file : files) {
    auto shard = read_shard_header(folder / file);
    if (!shard) {
      record.error = shard.error().message;
      return;
    }
    record.size_bytes += shard->file_bytes;
    std::ranges::move(shard->tensors, std::back_inserter(tensors));
  }
  count_tensors(record, tensors, config);
}

void read_sidecar(ModelRecord& record, const fs::path& folder) {
  const auto sidecar = read_shard_header(folder / "optiq_vision.safetensors");
  if (!sidecar) return;
  record.has_vision_sidecar = true;
  record.sidecar_bytes = sidecar->file_bytes;
  record.has_audio_tower = std::ranges::any_of(sidecar->tensors, [](const ShardTensor& tensor) {
    return tensor.name.starts_with("audio_tower.");
  });
}

void read_template(ModelRecord& record, const fs::path& folder) {
  std::string source;
  if (const auto jinja = read_file(folder / "chat_template.jinja")) source = *jinja;
  if (const auto config = read_json_file(folder / "tokenizer_config.json")) {
    const Json& value = child(*config, "chat_template");
    if (!value.is_null()) source += value.is_string() ? value.get<std::string>() : value.dump();
  }
  record.has_chat_template = !source.empty();
  record.has_tool_template = source.find("tools") != std::string::npos;
}

/// `license` of a README's front matter; `license_name` where that says "other".
std::string front_matter_license(const fs::path& folder) {
  const auto readme = read_file(folder / "README.md");
  if (!readme || !readme->starts_with("---")) return "";
  const auto end = readme->find("\n---", 3);
  std::string license, name;
  std::string_view rest = std::string_view(*readme).substr(0, end);
  while (!rest.empty()) {
    const auto newline = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, newline);
    const auto value = [&](std::string_view key) {
      std::string_view found = line.substr(key.size());
      while (found.starts_with(' ') || found.starts_with('"')) found.remove_prefix(1);
      while (found.ends_with(' ') || found.ends_with('"') || found.ends_with('\r')) {
        found.remove_suffix(1);
      }
      return std::string(found);
    };
    if (line.starts_with("license:")) license = value("license:");
    if (line.starts_with("license_name:")) name = value("license_name:");
    rest.remove_prefix(std::min(newline + 1, rest.size()));
  }
  return license == "other" && !name.empty() ? name : license;
}

std::string kind_of(const fs::path& folder, const std::string& type) {
  static const std::set<std::string, std::less<>> embedders{
      "bert", "distilbert", "modernbert", "nomic_bert", "roberta", "xlm-roberta"};
  if (type == "whisper") return "whisper";
  const std::string name = folder.filename().string();
  const auto ends = [&](std::string_view end) {
    return type.ends_with(end) || name.ends_with(end);
  };
  if (is_there(folder / "dspark.json") || ends("_assistant") || ends("-assistant") ||
      ends("_mtp")) {
    return "drafter";
  }
  const bool sentences = is_there(folder / "config_sentence_transformers.json") ||
                         is_there(folder / "1_Pooling") || is_there(folder / "modules.json");
  return embedders.contains(type) || sentences ? "embedding" : "chat";
}

}  // namespace

bool ModelRecord::vision() const {
  return has_vision_sidecar || vision_config_type.ends_with("unified_vision");
}

std::int64_t ModelRecord::kv_bytes(std::int64_t tokens) const {
  return tokens * num_layers * kv_heads * head_dim * 2 * 2;
}

std::string ModelRecord::quantization() const {
  if (quant_bits > 0) return fmt::format("{}-bit, group {}", quant_bits, quant_group_size);
  if (dtype == "BF16") return "bfloat16";
  if (dtype == "F16") return "float16";
  if (dtype == "F32") return "float32";
  return dtype;
}

std::int64_t folder_stamp(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const auto size = entry.is_regular_file(ec) ? entry.file_size(ec) : 0;
    const auto written = entry.last_write_time(ec).time_since_epoch().count();
    files.push_back(fmt::format("{}:{}:{}", entry.path().filename().string(), size, written));
  }
  std::ranges::sort(files);
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const auto& file : files) {
    for (const char c : file) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return static_cast<std::int64_t>(hash);
}

ModelRecord read_record(const fs::path& folder) {
  ModelRecord record;
  record.path = folder.string();
  record.stamp = folder_stamp(folder);
  record.scanned_at = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  const auto config = read_json_file(folder / "config.json");
  if (!config) {
    record.error = config.error().message;
    return record;
  }
  record.model_type = text(*config, "model_type");
  record.kind = kind_of(folder, record.model_type);
  record.has_kv_config = is_there(folder / "kv_config.json");
  record.license = front_matter_license(folder);
  read_geometry(record, *config);
  read_template(record, folder);
  read_sidecar(record, folder);
  read_weights(record, folder, *config);
  return record;
}

}  // namespace hearth::services::hub
