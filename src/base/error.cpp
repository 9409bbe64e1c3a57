#include "base/error.h"

namespace hearth {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_request:
      return "invalid_request";
    case ErrorCode::invalid_schema:
      return "invalid_schema";
    case ErrorCode::context_overflow:
      return "context_overflow";
    case ErrorCode::unauthorized:
      return "unauthorized";
    case ErrorCode::forbidden:
      return "forbidden";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::overloaded:
      return "overloaded";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::engine_lost:
      return "engine_lost";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::corrupt_file:
      return "corrupt_file";
    case ErrorCode::io:
      return "io";
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace hearth
