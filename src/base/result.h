// Result<T>: a value, or the Error that users and files can cause.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace hearth {

template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(ErrorCode::io, "...")` from a function that returns a Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string param = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(param)});
}

/// Hands an error on: `if (!x) return fail(x.error());`
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace hearth
