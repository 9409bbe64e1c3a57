// Finds a client's program and runs it in the foreground.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "cli/launch/client.h"

namespace hearth::cli {

/// The first executable file of this name on PATH.
std::optional<std::filesystem::path> on_path(std::string_view program,
                                             const Environment& environment);

/// Runs the program with these variables added and waits for it. Ctrl-C is its own affair; SIGTERM
/// and SIGHUP are handed on.
/// @return its exit code, 128 and the signal's number when one ended it
/// Errors: io.
Result<int> run_client(const std::filesystem::path& program,
                       const std::vector<std::string>& arguments, const Variables& variables);

}  // namespace hearth::cli
