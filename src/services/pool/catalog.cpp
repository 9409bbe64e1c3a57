#include "services/pool/catalog.h"

#include <algorithm>

namespace hearth::services {
namespace {

bool answers_to(const CatalogModel& model, std::string_view name) {
  if (model.gone) return false;
  return name == model.id || std::ranges::find(model.names, name) != model.names.end();
}

std::optional<std::size_t> exactly(std::span<const CatalogModel> models, std::string_view name) {
  if (name.empty() || models.empty()) return std::nullopt;
  if (name == "local") return 0;
  const auto found = std::ranges::find_if(
      models, [&](const CatalogModel& model) { return answers_to(model, name); });
  if (found == models.end()) return std::nullopt;
  return std::size_t(found - models.begin());
}

}  // namespace

std::optional<std::size_t> find_model(std::span<const CatalogModel> models, std::string_view name) {
  constexpr std::string_view tag = ":latest";
  if (const auto found = exactly(models, name)) return found;
  if (!name.ends_with(tag)) return std::nullopt;
  return exactly(models, name.substr(0, name.size() - tag.size()));
}

std::vector<PoolModel> pool_models(std::span<const CatalogModel> models) {
  std::vector<PoolModel> out;
  for (const CatalogModel& model : models) {
    out.push_back({.id = model.id,
                   .bytes = model.info.weight_bytes,
                   .pinned = model.pinned,
                   .idle_unload = model.idle_unload});
  }
  return out;
}

CatalogModel catalog_model(const LoadedModel& model, const std::string& served_name,
                           const ServerDefaults& defaults) {
  return {.id = served_name.empty() ? model.id : served_name,
          .names = {model.id, model.path.filename().string()},
          .path = model.path,
          .info = model.info,
          .defaults = defaults,
          .idle_unload = {}};
}

}  // namespace hearth::services
