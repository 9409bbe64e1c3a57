// version: what this program is.
#include <fmt/format.h>

#include "build_version.h"
#include "cli/verbs.h"
#include "services/model.h"

namespace hearth::cli {
namespace {

class Version : public Command {
 public:
  void declare(OptionTable& table) override {
    table
        .add(flag("--json", &json_,
                  "one JSON document: version, commit, MLX version, backend, device"))
        .in_config = false;
  }

  Result<int> run(Context& context) override {
    if (!json_) {
      context.terminal.out(fmt::format("hearth {}\n", HEARTH_VERSION));
      return exit_ok;
    }
    const auto backend = engine::backend();
    const Json json = {{"version", HEARTH_VERSION},          {"commit", HEARTH_COMMIT},
                       {"mlx_version", backend.mlx_version}, {"backend", backend.pack},
                       {"device", backend.device},           {"simd", backend.simd},
                       {"build", HEARTH_BUILD_TYPE},         {"compiler", HEARTH_COMPILER}};
    context.terminal.out(json.dump(2) + "\n");
    return exit_ok;
  }

 private:
  bool json_ = false;
};

}  // namespace

Verb version_verb() {
  return {.name = "version",
          .aliases = {},
          .summary = "The version; with --json the MLX version, backend, device and commit too",
          .usage = "[--json]",
          .notes = "",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Version>(); }};
}

}  // namespace hearth::cli
