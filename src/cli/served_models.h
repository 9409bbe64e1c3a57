// Which models `serve` has: the one it was started with and, with --model-pool, those of the index.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_argument.h"
#include "cli/model_settings.h"
#include "cli/option.h"
#include "services/pool/catalog.h"

namespace hearth::cli {

struct PoolFlags {
  std::optional<int> pool, idle_unload;
  std::vector<std::string> pinned;
  bool isolate = false;
  std::string unix_socket;  // of a worker
  void declare(OptionTable& table);
  /// Whether models come and go in this process.
  bool swaps() const { return (pool || idle_unload.value_or(0) > 0) && !isolate; }
};

/// The models of a server, and what is said of each.
struct ServedModels {
  std::vector<services::CatalogModel> catalog;  // the first is the one it starts with
  std::vector<ModelSettings> settings;          // of each
  std::vector<std::string> sections;            // of each: its name in the config file
  services::PoolLimits limits;
};

struct ServedModelsOptions {
  ModelChoice first;
  std::string served_name;  // of the first
  services::ServerDefaults defaults;
  std::optional<int> context;       // most tokens, where a model's section says nothing
  std::uint64_t prompt_cache = 0;   // bytes that are not for weights
  std::uint64_t memory_budget = 0;  // bytes; 0: none
};

/// Errors: usage (a section's value; --pin names no model).
Result<ServedModels> served_models(const ServedModelsOptions& options, const PoolFlags& flags,
                                   const Context& context);

}  // namespace hearth::cli
