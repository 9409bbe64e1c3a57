#include "server/errors.h"

#include <boost/beast/http/status.hpp>
#include <ostream>

namespace hearth::server {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_request:
    case ErrorCode::invalid_schema:
    case ErrorCode::context_overflow:
    case ErrorCode::usage:
      return 400;
    case ErrorCode::unauthorized:
      return 401;
    case ErrorCode::forbidden:
      return 403;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::too_large:
      return 413;
    case ErrorCode::overloaded:
      return 429;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::engine_lost:
      return 502;
    case ErrorCode::cancelled:
      return 499;
    case ErrorCode::unsupported:
      return 501;
    case ErrorCode::corrupt_file:
    case ErrorCode::io:
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

std::string_view reason_phrase(int status) {
  if (status == 499) return "Client Closed Request";
  const auto phrase =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  return {phrase.data(), phrase.size()};
}

}  // namespace hearth::server
