// What a user can paste to point a client at a server by hand.
#pragma once

#include <string>

#include "cli/launch/client.h"

namespace hearth::cli {

/// `export` lines for a shell, then the command. Writes nothing.
std::string shell_lines(const Client& client, const Target& target);

/// The client's name in a list: "claude, codex, ...".
/// @param startable  only those that `launch` can start
std::vector<std::string> client_names(bool startable);

/// Errors: usage, with the nearest name and all of them.
Result<const Client*> client_named(const std::optional<std::string>& name, bool startable);

}  // namespace hearth::cli
