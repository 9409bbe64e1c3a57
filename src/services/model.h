// A model ready to serve: engine, tokenizer, chat template and its own sampling defaults.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "engine/engine.h"
#include "text/chat_template.h"
#include "text/grammar.h"
#include "text/tokenizer.h"

namespace hearth::services {

/// generation_config.json of the model; unset where the file says nothing.
struct GenerationDefaults {
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<int> top_k;
};

struct EmbeddingConfig;

struct LoadedModel {
  std::string id;  // what /v1/models lists: org/name of a Hub path, else the folder's name
  std::filesystem::path path;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // null: raw completion only
  std::string no_template_reason;                           // why it is null
  GenerationDefaults defaults;
  std::shared_ptr<const EmbeddingConfig> embedding;  // null: it makes no embeddings
  std::unique_ptr<engine::Engine> engine;            // null where `submit` is scripted
  engine::ModelInfo info;                            // the engine's
  bool checkpoints = false;                          // the engine keeps answers as they grow
  /// Made when a request first asks for a constraint.
  std::shared_ptr<text::LazyGrammars> grammars = std::make_shared<text::LazyGrammars>();

  /// Engine::submit. A function, so that tests and replays can answer with scripted tokens.
  std::function<Result<std::shared_ptr<engine::TokenStream>>(engine::GenerateRequest)> submit;
  /// Engine::stats.
  std::function<engine::EngineStats()> stats;
};

/// Loads weights and texts side by side.
/// @param model  a folder with config.json, or a .gguf file
/// Errors: as Engine::load and Tokenizer::load. A missing template is not an error here.
Result<std::shared_ptr<LoadedModel>> load_model(const std::filesystem::path& model,
                                                const engine::EngineOptions& options);

/// Ends the engine and gives its memory back to the system. Waits for those that still hold the
/// model: nobody may be running a request on it.
void unload_model(std::shared_ptr<LoadedModel> model);

/// "org/name" of .../models--org--name/snapshots/<revision>, else the folder's or file's name.
std::string model_id(const std::filesystem::path& model);

/// Reads generation_config.json of a model's folder; nothing is set when there is none.
/// Errors: corrupt_file naming the file and the field.
Result<GenerationDefaults> read_generation_defaults(const std::filesystem::path& folder);

}  // namespace hearth::services
