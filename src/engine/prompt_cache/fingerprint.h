// What decides keys and values besides the tokens and a request's scope: the model and how it runs.
#pragma once

#include <filesystem>
#include <string>

#include "engine/engine.h"

namespace hearth::engine {

/// 32 hex digits that change with the model's config and weights (names, sizes, times of change,
/// their beginnings and ends), with the tier, the kernels and their instruction set, MLX's version,
/// and the form of the blocks. The tokenizer has no part in it: blocks are named by token ids.
/// @param model  a folder or a .gguf file
std::string fingerprint(const std::filesystem::path& model, const EngineOptions& options,
                        bool kernels);

/// A text that changes with the files of the model's tokenizer, where it has a folder of them.
std::string tokenizer_fingerprint(const std::filesystem::path& model);

}  // namespace hearth::engine
