#include "services/embedding/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/file.h"

namespace hearth::services {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

tl::unexpected<Error> unsupported(const fs::path& file, const std::string& what) {
  return fail(ErrorCode::unsupported, fmt::format("{}: {}", file.string(), what));
}

/// The object in a file; an empty one where there is no such file.
Result<Json> object_in(const fs::path& file) {
  if (!is_there(file)) return Json::object();
  auto json = read_json_file(file);
  if (!json) return fail(json.error());
  if (!json->is_object()) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: holds {}, expected an object", file.string(), json->type_name()));
  }
  return json;
}

Result<engine::Pooling> read_pooling(const fs::path& folder) {
  const auto file = folder / "config.json";
  const auto config = object_in(file);
  if (!config) return fail(config.error());
  static const std::pair<const char*, engine::Pooling> known[] = {
      {"pooling_mode_cls_token", engine::Pooling::first},
      {"pooling_mode_mean_tokens", engine::Pooling::mean},
      {"pooling_mode_lasttoken", engine::Pooling::last}};
  std::vector<std::string> modes;
  for (const auto& [key, value] : config->items()) {
    if (key.starts_with("pooling_mode_") && value == true) modes.push_back(key);
  }
  for (const auto& [name, pooling] : known) {
    if (modes.size() == 1 && modes.front() == name) return pooling;
  }
  return unsupported(
      file, fmt::format("pools by {}, expected one of cls_token, mean_tokens and "
                        "lasttoken",
                        modes.empty() ? "nothing"
                                      : fmt::format("{}", modes.size() == 1 ? modes.front()
                                                                            : "several modes")));
}

Result<void> read_module(const fs::path& model, const Json& module, EmbeddingConfig& out) {
  const auto file = model / "modules.json";
  const std::string type = module.is_object() ? module.value("type", "") : "";
  const std::string path = module.is_object() ? module.value("path", "") : "";
  if (!fs::path(path).lexically_normal().is_relative() || path.find("..") != path.npos) {
    return unsupported(file, fmt::format("a module is in \"{}\", outside the model", path));
  }
  if (type.ends_with(".Transformer")) return {};
  if (type.ends_with(".Normalize")) {
    out.normalise = true;
    return {};
  }
  if (type.ends_with(".Pooling")) {
    const auto pooling = read_pooling(model / path);
    if (!pooling) return fail(pooling.error());
    out.pooling = *pooling;
    return {};
  }
  if (type.ends_with(".Dense")) {
    auto dense = engine::Dense::load(model / path);
    if (!dense) return fail(dense.error());
    out.dense.push_back(std::move(*dense));
    return {};
  }
  return unsupported(file, fmt::format("has a module of type \"{}\", expected Transformer, "
                                       "Pooling, Dense or Normalize",
                                       type));
}

Result<void> read_modules(const fs::path& model, EmbeddingConfig& out) {
  const auto file = model / "modules.json";
  const auto modules = read_json_file(file);
  if (!modules) return fail(modules.error());
  if (!modules->is_array()) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: holds {}, expected a list", file.string(), modules->type_name()));
  }
  out.normalise = false;
  for (const Json& module : *modules) {
    if (auto ok = read_module(model, module, out); !ok) return ok;
  }
  return {};
}

Result<void> read_prompts(const fs::path& model, EmbeddingConfig& out) {
  const auto file = model / "config_sentence_transformers.json";
  const auto config = object_in(file);
  if (!config) return fail(config.error());
  const auto prompts = config->find("prompts");
  if (prompts != config->end() && prompts->is_object()) {
    for (const auto& [name, text] : prompts->items()) {
      if (text.is_string()) out.prompts[name] = text.get<std::string>();
    }
  }
  const auto name = config->find("default_prompt_name");
  if (name == config->end() || !name->is_string()) return {};
  out.default_prompt = name->get<std::string>();
  if (out.prompts.contains(out.default_prompt)) return {};
  return fail(ErrorCode::corrupt_file,
              fmt::format("{}: default_prompt_name is \"{}\", which is no prompt of it",
                          file.string(), out.default_prompt));
}

/// Called an embedding model where no file says so.
bool is_called_embedder(const fs::path& model) {
  const std::string path = ascii_lower(fs::absolute(model).string());
  return path.find("embedding") != path.npos;
}

}  // namespace

Result<std::optional<EmbeddingConfig>> read_embedding_config(const fs::path& model,
                                                             const engine::ModelInfo& info) {
  const bool modules = is_there(model / "modules.json");
  const bool qwen = info.model_type == "qwen3";
  if (!modules && !info.encoder && !(qwen && is_called_embedder(model))) return std::nullopt;
  EmbeddingConfig out;
  if (modules) {
    if (auto ok = read_modules(model, out); !ok) return fail(ok.error());
  } else if (qwen) {
    out.pooling = engine::Pooling::last;
  }
  if (auto ok = read_prompts(model, out); !ok) return fail(ok.error());
  const auto limits = object_in(model / "sentence_bert_config.json");
  if (!limits) return fail(limits.error());
  const auto most = limits->find("max_seq_length");
  if (most != limits->end() && most->is_number_unsigned()) {
    out.max_tokens = int(std::min<std::uint64_t>(most->get<std::uint64_t>(), 1u << 30));
  }
  if (info.context_length > 0) {
    const int context = info.context_length;
    out.max_tokens = out.max_tokens > 0 ? std::min(out.max_tokens, context) : context;
  }
  if (qwen) out.end_token = "<|endoftext|>";
  out.shortens = qwen || info.model_type == "gemma3_text";
  return out;
}

}  // namespace hearth::services
