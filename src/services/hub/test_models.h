// Model folders for tests: a config and a safetensors file with a sound header and zero weights.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"

namespace hearth::services::hub {

namespace fs = std::filesystem;

/// A folder below the temporary one, removed with its content at the end.
struct Scratch {
  fs::path path;
  Scratch() {
    static int count = 0;
    path = fs::temp_directory_path() /
           ("hearth_hub." + std::to_string(::getpid()) + "." + std::to_string(count++));
    fs::create_directories(path);
  }
  ~Scratch() { fs::remove_all(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

inline void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// Header length, header and `data_bytes` zeros.
inline void write_shard(const fs::path& file, const Json& header, std::size_t data_bytes) {
  const std::string text = header.dump();
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[static_cast<std::size_t>(i)] = static_cast<char>(text.size() >> 8 * i);
  write_text(file, bytes + text + std::string(data_bytes, '\0'));
}

inline Json tensor_entry(const char* dtype, std::vector<int> shape, int begin, int end) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

/// One bf16 matrix of 8 x 4 under the name "model.w.weight".
inline void write_model(const fs::path& folder, const std::string& type = "llama") {
  write_text(folder / "config.json", Json{{"model_type", type},
                                          {"num_hidden_layers", 2},
                                          {"hidden_size", 64},
                                          {"num_attention_heads", 4},
                                          {"num_key_value_heads", 2},
                                          {"vocab_size", 100},
                                          {"max_position_embeddings", 512}}
                                         .dump());
  write_shard(folder / "model.safetensors",
              {{"model.w.weight", tensor_entry("BF16", {8, 4}, 0, 64)}}, 64);
}

}  // namespace hearth::services::hub
