#include "cli/served_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/memory.h"
#include "cli/words.h"
#include "services/hub/resolve.h"
#include "services/hub/roots.h"

namespace hearth::cli {
namespace {

namespace hub = services::hub;

constexpr double usable_share = 0.75;  // of memory, for the weights and the prompt caches

services::CatalogModel entry_of(const hub::ModelRecord& record) {
  services::CatalogModel entry;
  entry.id = record.repo_id;
  entry.path = record.path;
  entry.vision = record.vision();
  entry.info.model_type = record.model_type;
  entry.info.vocab_size = record.vocab_size;
  entry.info.context_length = record.max_positions;
  entry.info.layers = record.num_layers;
  entry.info.hidden_size = record.hidden_size;
  entry.info.weight_bytes = std::size_t(record.size_bytes);
  entry.info.parameters = std::size_t(record.param_count);
  entry.info.quantization = record.quantization();
  return entry;
}

std::vector<hub::ModelRecord> loadable(const Context& context) {
  std::vector<hub::ModelRecord> out;
  for (auto& record : hub::canonical(open_registry(context).all())) {
    const bool sound = record.kind == "chat" && record.error.empty() && supported(record);
    if (sound) out.push_back(std::move(record));
  }
  return out;
}

class Maker {
 public:
  Maker(const ServedModelsOptions& options, const PoolFlags& flags,
        std::map<std::string, ModelSettings> settings)
      : options_(options), flags_(flags), settings_(std::move(settings)) {}

  /// The model that the server starts with.
  void add_first(const std::vector<hub::ModelRecord>& records) {
    const auto& path = options_.first.path;
    services::CatalogModel entry;
    const auto known = std::ranges::find(records, path.string(), &hub::ModelRecord::path);
    if (known != records.end()) entry = entry_of(*known);
    entry.path = path;
    entry.id = services::model_id(path);
    entry.names = {entry.id, path.filename().string()};
    if (known != records.end()) entry.names.push_back(known->repo_id);
    add(std::move(entry), options_.served_name);
  }

  /// The models of the index besides it. One that has the id of an earlier one is left out.
  void add_others(const std::vector<hub::ModelRecord>& records) {
    for (const auto& record : records) {
      if (options_.first.path == record.path) continue;
      if (services::find_model(out_.catalog, record.repo_id)) continue;
      services::CatalogModel entry = entry_of(record);
      entry.names = {record.repo_id};
      if (!hub::place_in_cache(record.path)) entry.names.push_back(entry.path.filename().string());
      add(std::move(entry), "");
    }
  }

  Result<void> pin() {
    for (const auto& name : split_commas(flags_.pinned)) {
      const auto model = services::find_model(out_.catalog, name);
      if (!model) {
        return fail(ErrorCode::usage, fmt::format("--pin: this server has no model '{}'", name),
                    "--pin");
      }
      out_.catalog[*model].pinned = true;
    }
    return {};
  }

  ServedModels take(std::uint64_t memory) {
    out_.limits.resident = flags_.pool.value_or(1);
    auto usable = std::uint64_t(double(memory) * usable_share);
    usable -= std::min(usable, options_.prompt_cache);
    if (options_.memory_budget > 0) usable = std::min(usable, options_.memory_budget);
    // What the server is told to start with is tried, however large it is.
    out_.limits.memory_bytes =
        std::max<std::size_t>(usable, out_.catalog.front().info.weight_bytes);
    return std::move(out_);
  }

 private:
  void add(services::CatalogModel entry, const std::string& served_name) {
    const auto said =
        std::ranges::find_if(settings_, [&](const auto& s) { return said_of(entry, s.first); });
    ModelSettings settings;
    if (said != settings_.end()) settings = said->second;
    out_.sections.push_back(said != settings_.end() ? said->first : "");
    if (!settings.served_name.empty()) entry.id = settings.served_name;
    if (!served_name.empty()) entry.id = served_name;
    entry.defaults = with(options_.defaults, settings);
    if (const auto most = settings.context ? settings.context : options_.context) {
      const int own = entry.info.context_length;
      entry.info.context_length = own > 0 ? std::min(own, *most) : *most;
    }
    entry.pinned = settings.pin.value_or(false);
    const auto idle = settings.idle_unload ? settings.idle_unload : flags_.idle_unload;
    if (idle.value_or(0) > 0) entry.idle_unload = std::chrono::seconds(*idle);
    out_.catalog.push_back(std::move(entry));
    out_.settings.push_back(std::move(settings));
  }

  static bool said_of(const services::CatalogModel& entry, const std::string& name) {
    return name == entry.id || std::ranges::find(entry.names, name) != entry.names.end();
  }

  static services::ServerDefaults with(services::ServerDefaults defaults,
                                       const ModelSettings& own) {
    if (own.sampling.temperature) defaults.temperature = own.sampling.temperature;
    if (own.sampling.top_p) defaults.top_p = own.sampling.top_p;
    if (own.sampling.top_k) defaults.top_k = own.sampling.top_k;
    if (own.sampling.max_tokens) defaults.max_tokens = own.sampling.max_tokens;
    if (own.thinking) defaults.thinking = own.thinking;
    return defaults;
  }

  const ServedModelsOptions& options_;
  const PoolFlags& flags_;
  const std::map<std::string, ModelSettings> settings_;
  ServedModels out_;
};

}  // namespace

void PoolFlags::declare(OptionTable& table) {
  table.section("Models");
  table.add(whole("--model-pool", "N", &pool, 1, 1024,
                  "load the models of this machine when requests name them, up to N at a time")
                .with_default("only the model it starts with"));
  table.add(whole("--model-idle-unload", "SECONDS", &idle_unload, 0, 1 << 30,
                  "unload a model that was unused for so long; 0 never")
                .with_default("0"));
  table.add(texts("--pin", "LIST", &pinned, "models that stay once they are loaded"));
  table.add(flag("--isolate", &isolate, "run each model in a process of its own"));
  Option socket = text("--unix", "SOCKET", &unix_socket, "");
  socket.hidden = true;
  socket.in_config = false;
  table.add(std::move(socket));
}

Result<ServedModels> served_models(const ServedModelsOptions& options, const PoolFlags& flags,
                                   const Context& context) {
  const bool worker = !flags.unix_socket.empty();
  std::map<std::string, ModelSettings> settings;
  if (!worker) {
    auto read = read_model_settings(context);
    if (!read) return fail(read.error());
    settings = std::move(*read);
  }
  const bool many = flags.pool && !worker;
  const auto records = many ? loadable(context) : std::vector<hub::ModelRecord>{};
  Maker maker(options, flags, std::move(settings));
  maker.add_first(records);
  if (many) maker.add_others(records);
  if (!worker) {
    if (auto pinned = maker.pin(); !pinned) return fail(pinned.error());
  }
  return maker.take(model_memory());
}

}  // namespace hearth::cli
