// What single schema objects of JSON Schema say, keyword by keyword.
#pragma once

#include "base/json.h"

namespace hearth::text {

/// A string anywhere in `value` has a control character that JSON spells as \uXXXX alone.
bool has_control_character(const Json& value);

/// Whether every multiple of the number is told exactly in binary, so that all readers agree on it.
bool is_exact_step(const Json& value);

/// Several keywords that each narrow what is allowed.
bool joins(const Json& schema);

/// Removes keywords that change nothing, and says plainly what is said in a roundabout way.
void drop_what_is_trivial(Json& schema);

/// Adds what Narrowing::usual stands for.
void narrow(Json& schema);

}  // namespace hearth::text
