// GGUF's tensor names as mlx-lm's, a table an architecture.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth::tensor {

enum class GgufArch { llama, qwen2, qwen3, gemma3 };

/// None for an architecture that is not read here.
std::optional<GgufArch> find_gguf_arch(std::string_view general_architecture);

/// "gemma3, llama, qwen2, qwen3"
std::string known_gguf_archs();

/// What is to be done with a tensor besides renaming it.
enum class GgufChange {
  none,
  unpermute_q,  // rows of llama's rotary heads: interleaved pairs back to halves
  unpermute_k,
  minus_one,  // GGUF stores Gemma's norms as 1 + w
};

struct MlxName {
  std::string name;  // "model.layers.3.self_attn.q_proj.weight"
  GgufChange change = GgufChange::none;
};

/// None for a tensor that the architecture does not have. `rope_freqs.weight` is no weight: see
/// gguf_config.h.
std::optional<MlxName> mlx_name(GgufArch arch, std::string_view gguf_name, int layers);

}  // namespace hearth::tensor
