// JSON schemas on their way into a grammar: what cannot be held is refused by name and place, what
// need not be held (annotations) is left out, and the grammar library's options are set.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/grammar.h"

namespace hearth::text {

struct SchemaOptions {
  bool any_whitespace = true;  // false: compact separators; else a few blanks between tokens
};

/// How much is asked for beyond the schema's letter. Either way all that matches the outcome
/// matches the schema.
enum class Narrowing {
  none,
  usual,  // objects without additionalProperties take their named ones alone; a schema with
          // keywords of one type has that type; known formats are held
};

/// The schema as the grammar library takes it, "x-guidance" included.
/// Errors: invalid_schema naming the keyword; `param` is its JSON pointer within the schema.
Result<Json> hold_schema(const Json& schema, const SchemaOptions& options, Narrowing narrowing);

/// A matcher for the schema, narrowed where that works.
/// Errors: invalid_schema naming the keyword at fault; `param` is its JSON pointer.
Result<Matcher> schema_matcher(const Grammars& grammars, const Json& schema,
                               const SchemaOptions& options);

/// As schema_matcher, but the schema as the grammar library takes it: for grammars that hold it.
Result<Json> compiled_schema(const Grammars& grammars, const Json& schema,
                             const SchemaOptions& options);

/// One step down a JSON pointer (RFC 6901).
std::string pointer_to(std::string_view parent, std::string_view key);

}  // namespace hearth::text
