// From "--model X" or a word on the command line to a folder or file that can be loaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"
#include "services/hub/record.h"
#include "services/hub/registry.h"

namespace hearth::cli {

/// The three ways to name a model: --model beats the positional, which beats --query.
struct ModelArgument {
  std::optional<std::string> positional, query, model;
  /// Adds --model and --query; the verb adds the positional where its place is.
  void declare(OptionTable& table);
  /// What was said; none: pick one.
  std::optional<std::string> said() const;
};

struct ModelChoice {
  std::filesystem::path path;
  std::string name;  // for messages
};

/// The index, brought up to date.
services::hub::Registry open_registry(const Context& context);

/// Finds the model. A folder with config.json or a .gguf file is taken as it is; other words go to
/// the index; nothing said picks one.
/// Errors: not_found with what to do, invalid_request (several match), corrupt_file (incomplete).
Result<ModelChoice> choose_model(const ModelArgument& argument, const Context& context);
/// The same for a verb that makes embeddings: nothing said picks an embedding model.
Result<ModelChoice> choose_embedder(const ModelArgument& argument, const Context& context);

/// Can this program run the record's model_type?
bool supported(const services::hub::ModelRecord& record);

}  // namespace hearth::cli
