// What the index knows of one model on disk, and how it is read: config, tokenizer config and
// safetensors headers alone, never weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace hearth::services::hub {

struct ModelRecord {
  std::string path;      // absolute; a snapshot of the Hub cache, another folder or a .gguf file
  std::string repo_id;   // org/name; for a folder outside the Hub cache its place below the root
  std::string revision;  // commit of a snapshot; empty elsewhere
  bool is_main = false;  // refs/main names this snapshot; true outside the Hub cache

  std::string model_type;  // config.json's own word
  std::string kind;        // chat, embedding, whisper, drafter
  std::int64_t param_count = 0;
  std::int64_t size_bytes = 0;     // of the language model's files
  std::int64_t sidecar_bytes = 0;  // optiq_vision.safetensors
  std::int64_t experts_bytes = 0;  // of tensors with ".experts." in their name
  int quant_bits = 0;              // 0: not quantised
  int quant_group_size = 0;
  std::string quant_mode;
  std::string dtype;  // most of the weights', where they are not quantised: "BF16"
  int num_layers = 0, hidden_size = 0, vocab_size = 0, max_positions = 0;
  int kv_heads = 0, head_dim = 0;
  bool has_vision_sidecar = false, has_audio_config = false, has_audio_tower = false;
  bool has_kv_config = false, has_tool_template = false, has_chat_template = false;
  std::string vision_config_type;
  std::string license;

  bool added = false;      // by `scan --dir`: the row stays though no usual root covers it
  std::string error;       // why it cannot be loaded: incomplete or corrupt files; empty when sound
  std::int64_t stamp = 0;  // changes when a file of the folder does
  std::int64_t scanned_at = 0;  // seconds since 1970

  bool vision() const;
  bool audio() const { return has_audio_config && has_audio_tower; }
  /// Bytes of keys and values for a context, in the model's 16-bit layout.
  std::int64_t kv_bytes(std::int64_t tokens) const;
  /// "4-bit, group 64", or the dtype in words.
  std::string quantization() const;

  bool operator==(const ModelRecord&) const = default;
};

/// Reads a model folder. A folder that cannot be loaded gives a record whose `error` says why.
/// Fills neither repo_id, revision nor is_main: those come from where the folder lies.
ModelRecord read_record(const std::filesystem::path& folder);

/// A number that changes when a file of the folder is added, removed, resized or written.
std::int64_t folder_stamp(const std::filesystem::path& folder);

}  // namespace hearth::services::hub
