// GGUF files: their metadata, and their import as a checkpoint with mlx-lm's names and layouts.
// Leaves out the tokenizer inside (text/gguf_tokenizer.h).
#pragma once

#include <filesystem>

#include "base/json.h"
#include "base/result.h"
#include "tensor/checkpoint.h"

namespace hearth::tensor {

/// Every key and value of the file's metadata, in file order: "general.architecture",
/// "tokenizer.ggml.tokens", ... Strings are as stored, which may not be UTF-8.
/// Errors: as GgufFile::open.
Result<Json> gguf_metadata(const std::filesystem::path& path);

/// Imports one .gguf file of the architectures llama, qwen2, qwen3 and gemma3.
///
/// config is made of the metadata, with "quantization" as mlx-lm writes it. Q8_0, Q4_0, Q4_1, Q5_0
/// and Q5_1 become affine words of 8, 4 or 5 bits in groups of 32 with the same values, their
/// scales and biases float16; K types are requantised, which Checkpoint::notes says. Rotary rows of
/// llama are put back in half-split order, Gemma's norms lose the 1 that GGUF adds. Dense tensors
/// share one float dtype: float16 beside quantised ones, else that of the matrices. Errors:
/// not_found, io, corrupt_file naming file and tensor; unsupported for architectures, block types,
/// rope scalings and tensors that nothing here reads.
Result<Checkpoint> load_gguf(const std::filesystem::path& path);

}  // namespace hearth::tensor
