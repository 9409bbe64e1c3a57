// Whole files: read, write without ever leaving half of one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hearth {

namespace fs = std::filesystem;

/// The bytes of a file. Errors: not_found, io; the message names the path and the reason.
Result<std::string> read_file(const fs::path& path);

/// The JSON document in a file. Errors as read_file, or corrupt_file.
Result<Json> read_json_file(const fs::path& path);

/// Writes to a temporary sibling, flushes and renames it, so a reader sees the old or the new file.
/// @param mode  permissions, which no reader ever finds wider; none: 0644 less the umask
Result<void> write_file(const fs::path& path, std::string_view bytes,
                        std::optional<unsigned> mode = {});

}  // namespace hearth
