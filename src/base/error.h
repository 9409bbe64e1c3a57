// What went wrong, in words for the user. Maps to an HTTP status in server/, to an exit code in
// cli/.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

enum class ErrorCode {
  invalid_request,   // a value, type or combination the caller sent; HTTP 400
  invalid_schema,    // a JSON schema or grammar that cannot be held; HTTP 400
  context_overflow,  // the prompt does not fit the model's context; HTTP 400
  unauthorized,      // HTTP 401
  forbidden,         // HTTP 403
  not_found,         // path, model, file, id; HTTP 404
  too_large,         // a body over its limit; HTTP 413
  overloaded,        // a queue is full; HTTP 429
  unavailable,       // a model that there is no room for now; HTTP 503
  engine_lost,       // the process that ran the model is gone; HTTP 502
  cancelled,         // the caller went away; HTTP 499
  unsupported,       // a combination that nothing here can run; HTTP 501
  corrupt_file,      // a file is broken, truncated or of the wrong shape
  io,                // the operating system refused: open, read, write, bind
  usage,             // command line: exit 2
  internal,          // our own fault, or MLX's; HTTP 500
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // where, what was found, what was expected, what to do
  std::string param;    // the request field or flag at fault; empty when none

  bool operator==(const Error&) const = default;
};

}  // namespace hearth
