#include "cli/verbs.h"

#include <array>

namespace hearth::cli {

std::span<const Verb> all_verbs() {
  static const std::array verbs{
      serve_verb(),   chat_verb(), generate_verb(),    embed_verb(), launch_verb(),
      harness_verb(), ls_verb(),   scan_verb(),        bench_verb(), doctor_verb(),
      version_verb(), help_verb(), completions_verb(),
  };
  return verbs;
}

}  // namespace hearth::cli
