#include "services/hub/support.h"

#include "models/family.h"

namespace hearth::services::hub {

bool supported(std::string_view model_type) { return models::find_family(model_type) != nullptr; }

std::vector<std::string> supported_types() {
  const auto known = models::known_model_types();
  return {known.begin(), known.end()};
}

}  // namespace hearth::services::hub
