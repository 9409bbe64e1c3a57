// The one place where an ErrorCode becomes an HTTP status.
#pragma once

#include <string_view>

#include "base/error.h"

namespace hearth::server {

int status_of(ErrorCode code);

/// "Not Found" of 404.
std::string_view reason_phrase(int status);

}  // namespace hearth::server
