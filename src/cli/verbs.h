// The one table of verbs.
#pragma once

#include <span>

#include "cli/verb.h"

namespace hearth::cli {

Verb bench_verb();
Verb chat_verb();
Verb completions_verb();
Verb doctor_verb();
Verb embed_verb();
Verb generate_verb();
Verb harness_verb();
Verb help_verb();
Verb launch_verb();
Verb ls_verb();
Verb scan_verb();
Verb serve_verb();
Verb version_verb();

/// In the order of the overview.
std::span<const Verb> all_verbs();

}  // namespace hearth::cli
