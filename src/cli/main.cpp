// The entry point; the table of verbs is verbs.cpp.
#include "cli/program.h"

int main(int argc, char** argv) {
  return hearth::cli::run_program({argv + 1, argv + argc}, hearth::Environment::of_process());
}
