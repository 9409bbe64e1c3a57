// What workers count, as one: the sums of their /metrics.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::server {

/// Adds up samples of the text format by name and labels, but for those families that `own` tells
/// already. Families keep the order and the words of the first text they are in.
/// @param texts  one a worker
std::string summed_metrics(const std::vector<std::string>& texts, std::string_view own);

}  // namespace hearth::server
