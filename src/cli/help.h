// Help texts and the reference page, read off the option tables.
#pragma once

#include <span>
#include <string>

#include "cli/verb.h"

namespace hearth::cli {

/// `hearth help`: the verbs.
std::string overview(std::span<const Verb> verbs);

/// `hearth help VERB`. @param columns  width to wrap at
std::string verb_help(const Verb& verb, int columns);

/// docs/cli.md's part that is read off the tables: a section a verb, a table row a flag.
std::string reference(std::span<const Verb> verbs);

}  // namespace hearth::cli
