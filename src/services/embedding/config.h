// How a model's own files say that texts become vectors.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/dense.h"
#include "engine/embed.h"

namespace hearth::services {

struct EmbeddingConfig {
  engine::Pooling pooling = engine::Pooling::mean;
  std::vector<engine::Dense> dense;  // behind the pooling, in order
  bool normalise = true;
  std::map<std::string, std::string> prompts;  // by name: what goes before a text
  std::string default_prompt;                  // a name of these; empty: none
  int max_tokens = 0;                          // of a text; 0: the model's context
  std::string end_token;                       // must end every text; empty: as the tokenizer does
  bool shortens = false;                       // the first numbers of a vector are a vector
};

/// Reads modules.json, N_Pooling, N_Dense, sentence_bert_config.json and
/// config_sentence_transformers.json of a folder. Without modules.json encoders pool by mean, and
/// a Qwen3 that is called an embedding model takes the last token.
/// @return none for a model that makes no embeddings
/// Errors: corrupt_file naming file and field; unsupported for pooling or modules that are not
/// known here.
Result<std::optional<EmbeddingConfig>> read_embedding_config(const std::filesystem::path& model,
                                                             const engine::ModelInfo& info);

}  // namespace hearth::services
