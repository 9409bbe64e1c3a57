// Changes single members of a JSON file's text and leaves the rest of it, comments too, as it is.
// Takes JSON with comments and trailing commas, as editors and coding agents write it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace hearth::cli {

/// `text` with the member at `path` set; objects on the way there are made.
/// An empty `text` is taken as {}.
/// Errors: corrupt_file with the line where the text is not JSON, or the member that is no object.
Result<std::string> set_json_member(std::string_view text, std::span<const std::string> path,
                                    const Json& value);

/// As set_json_member, with the value's text as it stands in some file.
Result<std::string> set_json_text(std::string_view text, std::span<const std::string> path,
                                  std::string_view value);

/// The text of the value at `path`; none when there is no such member or the text is no JSON.
std::optional<std::string> json_member(std::string_view text, std::span<const std::string> path);

/// `text` without the member at `path`; as it is when there is none.
std::string remove_json_member(std::string_view text, std::span<const std::string> path);

/// Nothing but an empty object, blanks and no comment.
bool is_empty_json_object(std::string_view text);

}  // namespace hearth::cli
