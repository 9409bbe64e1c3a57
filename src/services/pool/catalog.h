// The models that a server may be asked for, and the names they answer to.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/chat/request.h"
#include "services/model.h"
#include "services/pool/policy.h"

namespace hearth::services {

struct CatalogModel {
  std::string id;                  // in /v1/models and in answers
  std::vector<std::string> names;  // that mean it too
  std::filesystem::path path;
  engine::ModelInfo info;  // as far as the index knows it; weight_bytes of its files
  bool vision = false;
  ServerDefaults defaults;
  bool pinned = false;
  bool gone = false;  // from this machine since: nobody may ask for it
  std::optional<std::chrono::seconds> idle_unload;
};

/// The model that a name means: its id, one of its names, or "local" for the first, each also with
/// Ollama's ":latest". Nothing is looked up anywhere else.
std::optional<std::size_t> find_model(std::span<const CatalogModel> models, std::string_view name);

/// The catalog's models as the policy sees them.
std::vector<PoolModel> pool_models(std::span<const CatalogModel> models);

/// A catalog's entry for a model that is loaded already.
/// @param served_name  its id; empty: the model's own
CatalogModel catalog_model(const LoadedModel& model, const std::string& served_name,
                           const ServerDefaults& defaults);

}  // namespace hearth::services
