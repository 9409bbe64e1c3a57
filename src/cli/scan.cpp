// scan: reads the model folders anew into the index.
#include <fmt/format.h>

#include "base/json.h"
#include "cli/model_argument.h"
#include "cli/step.h"
#include "cli/verbs.h"
#include "services/hub/roots.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
namespace hub = services::hub;

Json as_json(const hub::ScanReport& report, const std::vector<fs::path>& roots,
             const std::vector<hub::ModelRecord>& records) {
  Json json = {{"models", report.models},
               {"read", report.read},
               {"removed", report.removed},
               {"broken", Json::array()},
               {"folders", Json::array()}};
  for (const auto& root : roots) json["folders"].push_back(root.string());
  for (const auto& record : records) {
    if (record.error.empty()) continue;
    json["broken"].push_back(
        {{"id", record.repo_id}, {"path", record.path}, {"error", record.error}});
  }
  return json;
}

class Scan : public Command {
 public:
  void declare(OptionTable& table) override {
    table.add(texts("--dir", "FOLDER", &folders_,
                    "also index the models below this folder, from now on"));
    table.add(flag("--json", &json_, "one JSON document")).in_config = false;
  }

  Result<int> run(Context& context) override {
    std::vector<fs::path> added;
    for (const auto& folder : folders_) {
      std::error_code ec;
      const fs::directory_iterator readable(folder, ec);
      if (ec) {
        return fail(ErrorCode::io,
                    fmt::format("--dir {}: {}; expected a folder of models", folder, ec.message()));
      }
      added.push_back(fs::absolute(folder));
    }
    auto registry = hub::Registry::open(context.folders.cache / "registry.sqlite");
    auto roots = hub::model_roots(context.folders, context.environment);
    Step step(context.terminal, "Scanning",
              context.quiet ? Steps::hidden : Steps::at_terminal_only);
    const auto report = hub::scan(registry, {.roots = roots, .added = added, .all = true});
    step.done("");
    roots.insert(roots.end(), added.begin(), added.end());
    return tell(context, report, roots, registry.all());
  }

 private:
  Result<int> tell(Context& context, const hub::ScanReport& report,
                   const std::vector<fs::path>& roots,
                   const std::vector<hub::ModelRecord>& records) const {
    if (json_) {
      context.terminal.out(as_json(report, roots, records).dump(2) + "\n");
      return exit_ok;
    }
    for (const auto& record : records) {
      if (!record.error.empty() && !context.quiet) {
        context.terminal.warn(fmt::format("{}: {}", record.repo_id, record.error));
      }
    }
    context.terminal.out(
        fmt::format("{} model{} indexed{}{}\n", report.models, report.models == 1 ? "" : "s",
                    report.broken > 0 ? fmt::format(", {} of them broken", report.broken) : "",
                    report.removed > 0 ? fmt::format(", {} gone", report.removed) : ""));
    return exit_ok;
  }

  std::vector<std::string> folders_;
  bool json_ = false;
};

}  // namespace

Verb scan_verb() {
  return {.name = "scan",
          .aliases = {},
          .summary = "Index the models on this machine anew",
          .usage = "[--dir FOLDER]...",
          .notes =
              "Reads configs and tensor headers, never weights: the Hub cache, `models` in the "
              "data folder, the folders of HEARTH_MODEL_DIRS and those given with --dir.",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Scan>(); }};
}

}  // namespace hearth::cli
