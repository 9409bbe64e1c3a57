// The program: finds the verb, reads its options, runs it, says what went wrong.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace hearth::cli {

/// @param arguments  argv without the program's name
/// @return           the exit code
int run_program(std::vector<std::string> arguments, const Environment& environment);

}  // namespace hearth::cli
