// A random two-layer llama on disk, for tests of what runs a model.
#pragma once

#include <filesystem>

namespace hearth::engine {

struct TinyModelOptions {
  int window = 0;  // of the first layer; 0: full attention
  int context_length = 256;
  bool quantized = false;  // 4 bits in groups of 32, the rest bfloat16; else float32
};

/// A folder with config.json and model.safetensors, removed with the object.
class TinyModel {
 public:
  static constexpr int vocab_size = 96;
  static constexpr int context_length = 256;  // unless the options say otherwise

  explicit TinyModel(TinyModelOptions options = {});
  ~TinyModel();
  TinyModel(const TinyModel&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace hearth::engine
