// Which model types this program runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::services::hub {

bool supported(std::string_view model_type);

/// Every model_type that runs, sorted.
std::vector<std::string> supported_types();

}  // namespace hearth::services::hub
