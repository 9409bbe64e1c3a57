// doctor: what this program runs on, and whether everything is as it should be.
#include <fmt/format.h>
#include <histedit.h>
#include <openssl/crypto.h>
#include <spdlog/version.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <link.h>
#endif

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <cstdlib>
#include <thread>

#include "build_version.h"
#include "cli/memory.h"
#include "cli/size.h"
#include "cli/verbs.h"
#include "services/hub/roots.h"
#include "services/hub/support.h"
#include "services/model.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

struct FolderState {
  std::string name;
  fs::path path;
  std::string state;  // "0700, writable", "missing, made when needed", ...
  bool sound = true;
};

struct Finding {
  std::string check, detail;
  bool sound = true;
};

FolderState inspect(std::string name, const fs::path& path) {
  FolderState out{std::move(name), path, "", true};
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    fs::path parent = path;
    while (parent.has_parent_path() && parent != parent.parent_path() &&
           ::access(parent.c_str(), F_OK) != 0) {
      parent = parent.parent_path();
    }
    out.sound = fs::is_directory(parent) && ::access(parent.c_str(), W_OK) == 0;
    out.state = out.sound ? "not there yet; made on first use"
                          : fmt::format("not there, and {} cannot hold it", parent.string());
    return out;
  }
  if (!S_ISDIR(info.st_mode)) {
    return {out.name, path, "is a file, expected a folder", false};
  }
  const bool readable = ::access(path.c_str(), R_OK | X_OK) == 0;
  const bool writable = ::access(path.c_str(), W_OK) == 0;
  out.sound = readable && writable;
  out.state = fmt::format("{:04o}, {}", info.st_mode & 07777,
                          !readable  ? "not readable"
                          : writable ? "writable"
                                     : "read-only");
  return out;
}

std::vector<FolderState> inspect_all(const Context& context) {
  const Folders& f = context.folders;
  std::vector<FolderState> out{inspect("config", f.config), inspect("data", f.data),
                               inspect("state", f.state), inspect("cache", f.cache),
                               inspect("hub cache", f.hub)};
  const auto roots = services::hub::model_roots(f, context.environment);
  for (std::size_t i = 2; i < roots.size(); ++i) {
    auto root = inspect("models", roots[i]);
    if (!fs::is_directory(roots[i]))
      root = {"models", roots[i], "HEARTH_MODEL_DIRS names it, but it is not there", false};
    // Nothing is written there: read-only is as good.
    root.sound = root.sound || root.state.ends_with("read-only");
    out.push_back(std::move(root));
  }
  return out;
}

/// Where the loader found the MLX library; empty where it cannot tell.
std::string mlx_library() {
  std::string found;
#ifdef __APPLE__
  for (std::uint32_t i = 0; i < _dyld_image_count(); ++i) {
    const std::string_view name = _dyld_get_image_name(i);
    if (name.ends_with("/libmlx.dylib")) found = name;
  }
#else
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (std::string_view(info->dlpi_name).find("libmlx") == std::string_view::npos) return 0;
        *static_cast<std::string*>(out) = info->dlpi_name;
        return 1;
      },
      &found);
#endif
  return found.empty() ? found : fs::weakly_canonical(found).string();
}

/// Library and version, as they run where they tell, else as built.
std::vector<std::pair<std::string, std::string>> libraries(const engine::Backend& backend) {
  const auto three = [](int a, int b, int c) { return fmt::format("{}.{}.{}", a, b, c); };
  return {{"MLX", backend.mlx_version},
          {"Boost", three(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
          {"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING)},
          {"SQLite", sqlite3_libversion()},
          {"nlohmann-json", three(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                  NLOHMANN_JSON_VERSION_PATCH)},
          {"fmt", three(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"spdlog", three(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
          {"CLI11", CLI11_VERSION},
          {"toml++", three(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
          {"libedit", fmt::format("{}.{}", LIBEDIT_MAJOR, LIBEDIT_MINOR)}};
}

struct Report {
  engine::Backend backend;
  std::string mlx_path;
  unsigned threads = 0;
  std::uint64_t memory = 0;
  std::vector<FolderState> folders;
  std::vector<Finding> findings;

  bool sound() const {
    for (const auto& finding : findings) {
      if (!finding.sound) return false;
    }
    return true;
  }
};

Report examine(const Context& context) {
  Report report{.backend = engine::backend(),
                .mlx_path = mlx_library(),
                .threads = std::thread::hardware_concurrency(),
                .memory = main_memory(),
                .folders = inspect_all(context),
                .findings = {}};
  const bool pinned = report.backend.mlx_version.starts_with(HEARTH_MLX_PINNED);
  report.findings.push_back(
      {"MLX version",
       pinned ? fmt::format("{}, as pinned", report.backend.mlx_version)
              : fmt::format("{} is loaded from {}, expected {}; rebuild, or "
                            "clear LD_LIBRARY_PATH",
                            report.backend.mlx_version, report.mlx_path, HEARTH_MLX_PINNED),
       pinned});
  for (const auto& folder : report.folders) {
    if (folder.sound) continue;
    report.findings.push_back({folder.name + " folder",
                               fmt::format("{}: {}", folder.path.string(), folder.state), false});
  }
  const auto types = services::hub::supported_types();
  report.findings.push_back(
      {"model families", fmt::format("{} model types: {}", types.size(), fmt::join(types, ", ")),
       !types.empty()});
  return report;
}

Json as_json(const Report& report) {
  Json json = {{"version", HEARTH_VERSION},
               {"commit", HEARTH_COMMIT},
               {"build", HEARTH_BUILD_TYPE},
               {"compiler", HEARTH_COMPILER},
               {"mlx",
                {{"version", report.backend.mlx_version},
                 {"pinned", HEARTH_MLX_PINNED},
                 {"library", report.mlx_path}}},
               {"backend", report.backend.pack},
               {"device", report.backend.device},
               {"device_memory_bytes", model_memory()},
               {"simd", report.backend.simd},
               {"threads", report.threads},
               {"memory_bytes", report.memory},
               {"folders", Json::array()},
               {"libraries", Json::object()},
               {"model_types", services::hub::supported_types()},
               {"checks", Json::array()},
               {"ok", report.sound()}};
  for (const auto& folder : report.folders) {
    json["folders"].push_back({{"name", folder.name},
                               {"path", folder.path.string()},
                               {"state", folder.state},
                               {"ok", folder.sound}});
  }
  for (const auto& [name, version] : libraries(report.backend)) json["libraries"][name] = version;
  for (const auto& finding : report.findings) {
    json["checks"].push_back(
        {{"check", finding.check}, {"detail", finding.detail}, {"ok", finding.sound}});
  }
  return json;
}

std::string as_text(const Report& report, const Terminal& terminal) {
  std::string out;
  const auto head = [&](std::string_view title) {
    out += terminal.paint_out(title, Style::bold) + "\n";
  };
  const auto row = [&](std::string_view name, std::string_view value) {
    out += fmt::format("  {:<15} {}\n", name, value);
  };
  head("Program");
  row("hearth", fmt::format("{} ({}, {} build, {})", HEARTH_VERSION, HEARTH_COMMIT,
                            HEARTH_BUILD_TYPE, HEARTH_COMPILER));
  head("Backend");
  row("MLX", fmt::format("{}, pack {}", report.backend.mlx_version, report.backend.pack));
  row("library", report.mlx_path);
  row("device", report.backend.device);
  row("device memory", human_size(model_memory()));
  row("SIMD", report.backend.simd);
  row("threads", fmt::format("{}", report.threads));
  row("memory", human_size(report.memory));
  head("Folders");
  for (const auto& folder : report.folders) {
    row(folder.name, fmt::format("{}  ({})", folder.path.string(), folder.state));
  }
  head("Libraries");
  for (const auto& [name, version] : libraries(report.backend)) row(name, version);
  head("Checks");
  for (const auto& finding : report.findings) {
    const auto mark = finding.sound ? terminal.paint_out("ok", Style::green)
                                    : terminal.paint_out("FAULT", Style::red);
    out += fmt::format("  {:<15} {}: {}\n", finding.check, mark, finding.detail);
  }
  return out;
}

class Doctor : public Command {
 public:
  void declare(OptionTable& table) override {
    table.add(flag("--json", &json_, "one JSON document")).in_config = false;
  }

  Result<int> run(Context& context) override {
    const Report report = examine(context);
    context.terminal.out(json_ ? as_json(report).dump(2) + "\n"
                               : as_text(report, context.terminal));
    return report.sound() ? exit_ok : exit_failed;
  }

 private:
  bool json_ = false;
};

}  // namespace

Verb doctor_verb() {
  return {
      .name = "doctor",
      .aliases = {},
      .summary = "What hearth runs on: MLX, device, folders, libraries, and whether all is well",
      .usage = "[--json]",
      .notes = "Ends with code 1 when a check fails.",
      .make = []() -> std::unique_ptr<Command> { return std::make_unique<Doctor>(); }};
}

}  // namespace hearth::cli
