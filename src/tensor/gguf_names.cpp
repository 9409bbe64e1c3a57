#include "tensor/gguf_names.h"

#include <fmt/format.h>

#include <charconv>
#include <span>

namespace hearth::tensor {
namespace {

struct Row {
  std::string_view gguf, mlx;
  GgufChange change = GgufChange::none;
};

constexpr Row around_layers[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};

constexpr Row llama_layer[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj", GgufChange::unpermute_q},
    {"attn_k", "self_attn.k_proj", GgufChange::unpermute_k},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

constexpr Row qwen_layer[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

constexpr Row gemma3_layer[] = {
    {"attn_norm", "input_layernorm", GgufChange::minus_one},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm", GgufChange::minus_one},
    {"attn_k_norm", "self_attn.k_norm", GgufChange::minus_one},
    {"post_attention_norm", "post_attention_layernorm", GgufChange::minus_one},
    {"ffn_norm", "pre_feedforward_layernorm", GgufChange::minus_one},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"post_ffw_norm", "post_feedforward_layernorm", GgufChange::minus_one},
};

struct ArchRow {
  std::string_view name;
  GgufArch arch;
  std::span<const Row> layer;
};

constexpr ArchRow archs[] = {
    {"gemma3", GgufArch::gemma3, gemma3_layer},
    {"llama", GgufArch::llama, llama_layer},
    {"qwen2", GgufArch::qwen2, qwen_layer},
    {"qwen3", GgufArch::qwen3, qwen_layer},
};

const Row* find(std::span<const Row> rows, std::string_view stem) {
  for (const Row& row : rows) {
    if (row.gguf == stem) return &row;
  }
  return nullptr;
}

std::span<const Row> layer_rows(GgufArch arch) {
  for (const auto& row : archs) {
    if (row.arch == arch) return row.layer;
  }
  return {};
}

}  // namespace

std::optional<GgufArch> find_gguf_arch(std::string_view general_architecture) {
  for (const auto& row : archs) {
    if (row.name == general_architecture) return row.arch;
  }
  return {};
}

std::string known_gguf_archs() {
  std::string out;
  for (const auto& row : archs) out += fmt::format("{}{}", out.empty() ? "" : ", ", row.name);
  return out;
}

std::optional<MlxName> mlx_name(GgufArch arch, std::string_view gguf_name, int layers) {
  const auto dot = gguf_name.rfind('.');
  if (dot == gguf_name.npos) return {};
  const std::string_view kind = gguf_name.substr(dot);  // ".weight", ".bias"
  if (kind != ".weight" && kind != ".bias") return {};
  std::string_view stem = gguf_name.substr(0, dot);
  std::string prefix;
  const Row* row = nullptr;
  if (stem.starts_with("blk.")) {
    stem.remove_prefix(4);
    int layer = -1;
    const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), layer);
    const auto digits = static_cast<std::size_t>(end - stem.data());
    if (error != std::errc() || layer < 0 || layer >= layers) return {};
    if (digits >= stem.size() || stem[digits] != '.') return {};
    row = find(layer_rows(arch), stem.substr(digits + 1));
    prefix = fmt::format("model.layers.{}.", layer);
  } else {
    row = find(around_layers, stem);
  }
  if (!row) return {};
  const bool gemma_norm = arch == GgufArch::gemma3 && stem == "output_norm";
  return MlxName{fmt::format("{}{}{}", prefix, row->mlx, kind),
                 gemma_norm ? GgufChange::minus_one : row->change};
}

}  // namespace hearth::tensor
