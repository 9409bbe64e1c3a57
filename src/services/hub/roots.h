// Where models lie: the layout of the Hub cache, and plain folders of models.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/folders.h"

namespace hearth::services::hub {

/// A folder that holds a model, before anything in it has been read.
struct Place {
  std::filesystem::path path;
  std::string repo_id;
  std::string revision;
  bool is_main = true;
  bool operator==(const Place&) const = default;
};

/// "models--org--name" -> "org/name"; none for another name.
std::optional<std::string> repo_of_cache_folder(std::string_view folder);

/// Repository and commit of .../models--org--name/snapshots/<commit>; none outside a Hub cache.
std::optional<Place> place_in_cache(const std::filesystem::path& model);

/// Every snapshot with a config.json of a Hub cache, or every folder with one that lies at most
/// three levels below another root (the root too). In the order of their paths.
std::vector<Place> find_models(const std::filesystem::path& root);

/// The Hub cache, `models` in the data folder, then HEARTH_MODEL_DIRS in its order.
std::vector<std::filesystem::path> model_roots(const Folders& folders,
                                               const Environment& environment);

}  // namespace hearth::services::hub
