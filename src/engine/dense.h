// A dense layer behind the pooling of a sentence embedder: out = activation(W·x + b), float32.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::engine {

/// Source: sentence-transformers, models/Dense.py.
class Dense {
 public:
  /// Reads config.json and model.safetensors of a module's folder ("2_Dense").
  /// Errors: not_found, corrupt_file naming the file; unsupported for an unknown activation.
  static Result<Dense> load(const std::filesystem::path& folder);

  /// x [K] -> [N]
  std::vector<float> operator()(const std::vector<float>& x) const;
  int inputs() const { return inputs_; }
  int outputs() const { return static_cast<int>(weight_.size()) / inputs_; }

 private:
  int inputs_ = 0;
  std::vector<float> weight_, bias_;  // [N, K], [N] or empty
  bool tanh_ = false;
};

}  // namespace hearth::engine
