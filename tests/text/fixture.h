// The fixtures that tests/text/make_fixtures.py makes, and the list of known differences.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "base/json.h"

namespace hearth::text_suite {

/// The folder of the fixtures ($HEARTH_CACHE_DIR/text/current, else .cache/text/current); throws
/// where it is missing.
std::filesystem::path fixtures();

/// A document of the fixtures; throws where it is missing or broken.
Json fixture(const std::filesystem::path& name);

/// Keys of the rows of README.md's table `title`.
std::set<std::string> known_differences(const std::string& title);

}  // namespace hearth::text_suite
