// A config file's text with our settings in it, and without them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/launch/client.h"

namespace hearth::cli {

/// `text` with what `file` says; none: the file is not there yet.
/// Errors: corrupt_file, unsupported: what in it stands in the way.
Result<std::string> with_settings(const ClientFile& file, const std::optional<std::string>& text);

/// `text`, which a user may have changed since, without what `file` says: where `before` had
/// another value, that one comes back. None: nothing of the file is left.
std::optional<std::string> without_settings(const ClientFile& file, std::string_view text,
                                            const std::optional<std::string>& before);

}  // namespace hearth::cli
