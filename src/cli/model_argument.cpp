#include "cli/model_argument.h"

#include <fmt/format.h>

#include "cli/memory.h"
#include "services/hub/resolve.h"
#include "services/hub/roots.h"
#include "services/hub/support.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;
namespace hub = services::hub;

bool looks_like_path(const std::string& word) {
  return word.starts_with('/') || word.starts_with("./") || word.starts_with("../") ||
         word.starts_with('~') || word == "." || word == ".." || word.ends_with(".gguf");
}

/// A path that is no model: what is there, and what was expected.
tl::unexpected<Error> no_model_at(const fs::path& path) {
  std::error_code ec;
  const auto status = fs::status(path, ec);
  if (!fs::exists(status)) {
    const std::string why =
        ec && ec != std::errc::no_such_file_or_directory ? ec.message() : "no such folder or file";
    return fail(ErrorCode::not_found, fmt::format("{}: {}", path.string(), why));
  }
  if (fs::is_directory(status)) {
    return fail(ErrorCode::not_found,
                fmt::format("{}: no config.json here; expected a model folder with config.json, "
                            "tokenizer.json and model*.safetensors",
                            path.string()));
  }
  return fail(ErrorCode::not_found,
              fmt::format("{}: is a file, expected a model folder or a .gguf file", path.string()));
}

/// The model at a path; none when the word names no path.
std::optional<Result<ModelChoice>> at_path(const std::string& word) {
  const fs::path path = word;
  std::error_code ec;
  if (fs::exists(path / "config.json", ec)) {
    fs::path folder = fs::absolute(path).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    const auto place = hub::place_in_cache(folder);
    return ModelChoice{folder, place ? place->repo_id : folder.filename().string()};
  }
  if (path.extension() == ".gguf" && fs::is_regular_file(path, ec)) {
    return ModelChoice{fs::absolute(path), path.filename().string()};
  }
  if (looks_like_path(word)) return no_model_at(path);
  return std::nullopt;
}

Error nothing_here(const Context& context, const std::string& why) {
  return {
      ErrorCode::not_found,
      fmt::format("{}. Name a model folder with --model FOLDER, or put one into {} or into the "
                  "Hub cache {}",
                  why, (context.folders.data / "models").string(), context.folders.hub.string()),
      "--model"};
}

}  // namespace

void ModelArgument::declare(OptionTable& table) {
  table.add(text("--model", "MODEL", &model,
                 "a model folder, a .gguf file, or part of the name of a model on this machine"));
  table.add(text("-q,--query", "NAME", &query, "the same, beaten by --model and by the argument"));
}

std::optional<std::string> ModelArgument::said() const {
  return model ? model : positional ? positional : query;
}

hub::Registry open_registry(const Context& context) {
  auto registry = hub::Registry::open(context.folders.cache / "registry.sqlite");
  hub::scan(registry, {.roots = hub::model_roots(context.folders, context.environment)});
  return registry;
}

Result<ModelChoice> choose_embedder(const ModelArgument& argument, const Context& context) {
  if (argument.said()) return choose_model(argument, context);
  const auto record = hub::pick_embedder(open_registry(context).all(), supported);
  if (!record) return fail(nothing_here(context, record.error().message));
  return ModelChoice{record->path, record->repo_id};
}

bool supported(const hub::ModelRecord& record) { return hub::supported(record.model_type); }

Result<ModelChoice> choose_model(const ModelArgument& argument, const Context& context) {
  const auto said = argument.said();
  if (said && said->empty()) return fail(ErrorCode::usage, "the model's name is empty");
  if (said) {
    if (auto found = at_path(*said)) return *found;
  }
  const auto records = open_registry(context).all();
  Result<hub::ModelRecord> record;
  if (said) {
    record = hub::resolve(records, *said);
    if (!record && records.empty()) {
      return fail(nothing_here(
          context, fmt::format("no model matches '{}': none is on this machine", *said)));
    }
  } else {
    record = hub::auto_pick(records, {.memory_bytes = static_cast<std::int64_t>(model_memory()),
                                      .supported = supported});
    if (!record && record.error().message.starts_with("no chat model")) {
      return fail(nothing_here(context, record.error().message));
    }
  }
  if (!record) return fail(record.error());
  if (!record->error.empty()) {
    return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", record->repo_id, record->error));
  }
  return ModelChoice{record->path, record->repo_id};
}

}  // namespace hearth::cli
