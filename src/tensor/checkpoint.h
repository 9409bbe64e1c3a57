// The tensors of a checkpoint by name, as mlx-lm names them: safetensors or GGUF, memory-mapped.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "mlx/mlx.h"

namespace hearth::tensor {

using Array = mlx::core::array;

struct Checkpoint {
  Json config;                           // config.json; for GGUF, made of its metadata
  std::map<std::string, Array> tensors;  // full names: "model.layers.0.self_attn.q_proj.weight"
  std::size_t bytes = 0;                 // of all tensors
  std::vector<std::string> notes;        // what a user should know: "12 Q4_K tensors requantised"
};

/// Reads `config.json` and every `model*.safetensors` (with or without an index) of a folder, or
/// one .gguf file. Headers are checked before any data is touched: lengths, offsets, overlap, dtype
/// and shape against bytes. Arrays view the mapping where MLX allows it. Errors: not_found
/// (config.json, weights, a shard that the index names), corrupt_file naming file and tensor.
Result<Checkpoint> load_checkpoint(const std::filesystem::path& model);

}  // namespace hearth::tensor
