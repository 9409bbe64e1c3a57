// A checkpoint to a model that runs: finds the family, checks every tensor.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "models/family.h"
#include "tensor/checkpoint.h"

namespace hearth::models {

struct Loaded {
  std::unique_ptr<Model> model;
  std::string model_type;
  ToolDialect tool_calls = ToolDialect::none;
  int vocab_size = 0;
  int context_length = 0;  // max_position_embeddings; 0 when the config does not say
  int layers = 0;
  int hidden_size = 0;
  bool encoder = false;        // makes embeddings and no text
  std::size_t bytes = 0;       // of the tensors
  std::size_t parameters = 0;  // numbers, packed ones counted singly
  std::string quantization;    // "4-bit, group 64", "bfloat16"
  std::vector<std::string> notes;
};

/// Whether the kernels on the default device, a GPU, take a model of this config: its widths, and
/// a family all of whose layers they know.
bool device_takes(const std::filesystem::path& path);

/// Builds the model on this thread, which must be the one that will run it.
/// Errors: as load_checkpoint; unsupported for an unknown model_type (lists the known ones);
/// corrupt_file for a config that is not sound, a missing, misshapen or left-over tensor.
Result<Loaded> load(const std::filesystem::path& path, tensor::Execution execution);
/// The same from a checkpoint in memory; `where` opens the error messages.
Result<Loaded> load(tensor::Checkpoint checkpoint, const std::string& where,
                    tensor::Execution execution);

}  // namespace hearth::models
