#include "services/model.h"

#include <fmt/format.h>

#include <cmath>
#include <future>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "services/embedding/config.h"
#include "tensor/gguf.h"
#include "text/gguf_tokenizer.h"

namespace hearth::services {
namespace {

struct Texts {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;
  std::string no_template_reason;
  GenerationDefaults defaults;
};

/// Tokenizer and template out of a .gguf file's metadata, which has no sampling defaults.
Result<Texts> load_gguf_texts(const fs::path& file) {
  const auto named = [&](const Error& error) {
    return fail(error.code, fmt::format("{}: {}", file.string(), error.message));
  };
  const auto metadata = tensor::gguf_metadata(file);
  if (!metadata) return fail(metadata.error());
  const auto made = text::gguf_tokenizer(*metadata);
  if (!made) return named(made.error());
  auto tokenizer = text::Tokenizer::from_json(made->tokenizer_json, made->tokenizer_config);
  if (!tokenizer) return named(tokenizer.error());
  Texts texts{.tokenizer = std::move(*tokenizer)};
  if (made->chat_template.empty()) {
    texts.no_template_reason = fmt::format("{}: its metadata has no chat template", file.string());
  } else if (auto found = text::ChatTemplate::from_source(made->chat_template, texts.tokenizer)) {
    texts.chat_template = std::move(*found);
  } else {
    texts.no_template_reason = fmt::format("{}: {}", file.string(), found.error().message);
  }
  return texts;
}

Result<Texts> load_texts(const fs::path& folder) {
  std::error_code ignored;
  if (folder.extension() == ".gguf" && !fs::is_directory(folder, ignored)) {
    return load_gguf_texts(folder);
  }
  Texts texts;
  auto tokenizer = text::Tokenizer::load(folder);
  if (!tokenizer) return fail(tokenizer.error());
  texts.tokenizer = std::move(*tokenizer);
  if (auto found = text::ChatTemplate::load(folder, texts.tokenizer)) {
    texts.chat_template = std::move(*found);
  } else {
    texts.no_template_reason = found.error().message;
  }
  auto defaults = read_generation_defaults(folder);
  if (!defaults) return fail(defaults.error());
  texts.defaults = *defaults;
  return texts;
}

/// Sets `out` from a number of the file.
Result<void> read_number(const Json& json, const char* key, const fs::path& file, double least,
                         double most, auto& out) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  const double value = found->is_number() ? found->get<double>() : NAN;
  if (!(value >= least && value <= most)) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: {} is {}, expected a number from {} to {}", file.string(), key,
                            found->dump(), least, most));
  }
  out = static_cast<typename std::remove_reference_t<decltype(out)>::value_type>(value);
  return {};
}

/// "name" of "models--org--name" as "org/name"; empty for other folders.
std::string hub_id(std::string_view folder) {
  constexpr std::string_view prefix = "models--";
  if (!folder.starts_with(prefix)) return {};
  const auto name = folder.substr(prefix.size());
  const auto at = name.find("--");
  if (at == name.npos) return std::string(name);
  return fmt::format("{}/{}", name.substr(0, at), name.substr(at + 2));
}

constexpr std::chrono::milliseconds a_moment{1};
constexpr std::chrono::seconds patience{10};

}  // namespace

void unload_model(std::shared_ptr<LoadedModel> model) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (model.use_count() > 1 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(a_moment);
  }
  if (model.use_count() > 1) log::warn("{} is still held; its memory is freed later", model->id);
  model.reset();
  engine::release_memory();
}

std::string model_id(const fs::path& model) {
  auto path = fs::absolute(model).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  for (auto folder = path; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == "snapshots") {
      if (auto id = hub_id(folder.parent_path().filename().string()); !id.empty()) return id;
    }
  }
  return path.extension() == ".gguf" ? path.stem().string() : path.filename().string();
}

Result<GenerationDefaults> read_generation_defaults(const fs::path& folder) {
  const auto file = folder / "generation_config.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return GenerationDefaults{};
  const auto json = read_json_file(file);
  if (!json) return fail(json.error());
  if (!json->is_object()) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: holds {}, expected an object", file.string(), json->type_name()));
  }
  GenerationDefaults out;
  for (auto read :
       {read_number(*json, "temperature", file, 0, 1e6, out.temperature),
        read_number(*json, "top_p", file, 0, 1, out.top_p),
        read_number(*json, "min_p", file, 0, 1, out.min_p),
        read_number(*json, "top_k", file, -1, 1 << 20, out.top_k),
        read_number(*json, "repetition_penalty", file, 0, 1e6, out.repetition_penalty)}) {
    if (!read) return fail(read.error());
  }
  if (out.top_k == -1) out.top_k = 0;  // some files write "all" so
  return out;
}

Result<std::shared_ptr<LoadedModel>> load_model(const fs::path& model,
                                                const engine::EngineOptions& options) {
  auto texts = std::async(std::launch::async, [&] { return load_texts(model); });
  auto engine = engine::Engine::load(model, options);
  auto loaded_texts = texts.get();
  if (!engine) return fail(engine.error());
  if (!loaded_texts) return fail(loaded_texts.error());

  auto out = std::make_shared<LoadedModel>();
  out->id = model_id(model);
  out->path = model;
  out->tokenizer = std::move(loaded_texts->tokenizer);
  out->chat_template = std::move(loaded_texts->chat_template);
  out->no_template_reason = std::move(loaded_texts->no_template_reason);
  out->defaults = loaded_texts->defaults;
  out->engine = std::move(*engine);
  out->info = out->engine->info();
  out->checkpoints = options.checkpoint_every > 0;
  auto embedding = read_embedding_config(model, out->info);
  if (!embedding) return fail(embedding.error());
  if (*embedding) out->embedding = std::make_shared<EmbeddingConfig>(std::move(**embedding));
  out->submit =
      [engine = out->engine.get(), id = out->id, encoder = out->info.encoder](
          engine::GenerateRequest request) -> Result<std::shared_ptr<engine::TokenStream>> {
    if (!encoder) return engine->submit(std::move(request));
    return fail(ErrorCode::invalid_request,
                fmt::format("{} is an embedding model: it answers POST /v1/embeddings only", id),
                "model");
  };
  out->stats = [engine = out->engine.get()] { return engine->stats(); };
  return out;
}

}  // namespace hearth::services
