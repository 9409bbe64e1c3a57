// A model whose tokenizer and chat template are a real model's and whose tokens are a script's.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "script.h"
#include "services/model.h"

namespace hearth::scripted {

struct ModelOptions {
  std::filesystem::path folder;  // of a real model; its weights are not read
  std::filesystem::path
      chat_template;  // a Jinja file in place of the folder's; empty: the folder's
  std::string tool_dialect = "hermes";  // as Family::tool_calls
  std::filesystem::path record;         // a JSON line for each row's begin and end; empty: none
  int context_length = 32768;
  std::string id;  // empty: the folder's name
};

/// Errors: as Tokenizer::load and ChatTemplate::load; io when the record cannot be written.
Result<std::shared_ptr<services::LoadedModel>> load(const ModelOptions& options, Script script);

}  // namespace hearth::scripted
