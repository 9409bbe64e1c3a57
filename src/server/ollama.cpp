// Ollama's routes: chat and generate, and what its clients ask about the model.
#include "services/chat/ollama.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "server/generate.h"
#include "server/handlers.h"
#include "server/model_name.h"
#include "services/chat/fields.h"

namespace hearth::server {
namespace {

/// Of the API that is spoken, not of this program: clients refuse servers that look too old.
constexpr std::string_view api_version = "0.13.0";

std::string utc(std::chrono::system_clock::time_point at) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

using services::CatalogModel;

/// What is known of a model, be it resident or not.
struct Known {
  const CatalogModel& entry;
  const engine::ModelInfo& info;
  ServedPtr served;  // null while it is not resident
};

Known known(const Context& context, std::size_t model) {
  const auto& entry = context.pool.models()[model];
  auto served = context.pool.resident(model);
  const auto& info = served && served->model ? served->model->info : entry.info;
  return {entry, info, std::move(served)};
}

std::string modified_at(const Context& context, const CatalogModel& entry) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(entry.path, error);
  if (error) return utc(context.started);
  const auto age = std::filesystem::file_time_type::clock::now() - written;
  const auto at = std::chrono::system_clock::now() - age;
  return utc(std::chrono::time_point_cast<std::chrono::system_clock::duration>(at));
}

/// An identity in the form that clients expect: SHA-256, of what tells models apart here.
std::string digest_of(const CatalogModel& entry) {
  const std::string text = fmt::format("{}|{}", entry.id, entry.path.string());
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash);
  std::string hex;
  for (const unsigned char byte : hash) hex += fmt::format("{:02x}", byte);
  return hex;
}

/// "135M", "7.6B".
std::string rounded_count(double parameters) {
  if (parameters >= 1e9) return fmt::format("{:.1f}B", parameters / 1e9);
  return fmt::format("{:.0f}M", parameters / 1e6);
}

Json details_of(const Known& model) {
  const bool gguf = model.entry.path.extension() == ".gguf";
  return {{"parent_model", ""},
          {"format", gguf ? "gguf" : "safetensors"},
          {"family", model.info.model_type},
          {"families", {model.info.model_type}},
          {"parameter_size", rounded_count(double(model.info.parameters))},
          {"quantization_level", model.info.quantization}};
}

Json model_entry(const Context& context, const Known& model) {
  const auto& id = model.entry.id;
  return {{"name", id},
          {"model", id},
          {"modified_at", modified_at(context, model.entry)},
          {"size", model.info.weight_bytes},
          {"digest", digest_of(model.entry)},
          {"details", details_of(model)}};
}

Json capabilities_of(const Context& context, std::size_t model) {
  const Json& row = context.pool.row(model);
  Json capabilities{"completion"};
  if (row.value("tools", false)) capabilities.push_back("tools");
  if (row.value("reasoning", false)) capabilities.push_back("thinking");
  return capabilities;
}

Json model_info_of(const Known& model) {
  const auto& info = model.info;
  const std::string& family = info.model_type;
  return {{"general.architecture", family},
          {"general.basename", model.entry.id},
          {"general.parameter_count", info.parameters},
          {family + ".block_count", info.layers},
          {family + ".context_length", info.context_length},
          {family + ".embedding_length", info.hidden_size},
          {family + ".vocab_size", info.vocab_size}};
}

/// Lines of a Modelfile: "temperature 0.7".
std::string parameters_of(const services::GenerationDefaults& defaults) {
  std::string lines;
  const auto add = [&lines](std::string_view name, const auto& value) {
    if (value) lines += fmt::format("{:<30} {}\n", name, *value);
  };
  add("temperature", defaults.temperature);
  add("top_p", defaults.top_p);
  add("top_k", defaults.top_k);
  add("min_p", defaults.min_p);
  add("repeat_penalty", defaults.repetition_penalty);
  return lines;
}

Json shown_model(const Context& context, std::size_t index) {
  const Known model = known(context, index);
  const auto* loaded = model.served ? model.served->model.get() : nullptr;
  const bool templated = loaded && loaded->chat_template;
  return {{"modelfile", fmt::format("FROM {}\n", model.entry.id)},
          {"parameters", loaded ? parameters_of(loaded->defaults) : ""},
          {"template", templated ? loaded->chat_template->source() : ""},
          {"details", details_of(model)},
          {"model_info", model_info_of(model)},
          {"capabilities", capabilities_of(context, index)},
          {"modified_at", modified_at(context, model.entry)}};
}

/// The model is not loaded for this: clients ask it of every model in turn.
Result<Json> show(const Context& context, const Json& body) {
  const Json* name = services::field(body, "model");
  if (!name) name = services::field(body, "name");
  if (!name || !name->is_string()) {
    return fail(services::wrong_value("model", name ? *name : Json(), "the name of a model"));
  }
  const auto model = model_named(context, name->get_ref<const std::string&>());
  if (!model) return fail(model.error());
  return shown_model(context, *model);
}

/// What `make` says about the models, once the first one was loaded.
template <class Make>
Handled about_models(Context& context, Connection& connection, Make make) {
  const auto first = co_await context.wait_for_rows(connection);
  if (connection.gone()) co_return;
  HttpReply reply;
  if (first) {
    reply = json_reply(200, make(context));
  } else {
    reply = protocol_error(connection, services::ollama_chat, first.error());
  }
  co_await connection.reply(std::move(reply));
}

std::string expires_at(const Context& context, const CatalogModel& entry) {
  const auto stays = std::chrono::years(100);
  if (entry.pinned || !entry.idle_unload) return utc(context.started + stays);
  return utc(std::chrono::system_clock::now() + *entry.idle_unload);
}

Json running_models(const Context& context) {
  Json running = Json::array();
  for (std::size_t i = 0; i < context.pool.models().size(); ++i) {
    const Known model = known(context, i);
    if (!model.served) continue;
    Json entry = model_entry(context, model);
    entry.erase("modified_at");
    entry["expires_at"] = expires_at(context, model.entry);
    entry["size_vram"] = model.info.weight_bytes;
    entry["context_length"] = model.info.context_length;
    running.push_back(std::move(entry));
  }
  return {{"models", std::move(running)}};
}

Json installed_models(const Context& context) {
  Json installed = Json::array();
  for (const auto i : context.pool.listed()) {
    installed.push_back(model_entry(context, known(context, i)));
  }
  return {{"models", std::move(installed)}};
}

}  // namespace

Handled ollama_answer(Context& context, Connection& connection, const Route& route) {
  const bool chat = route.protocol == &services::ollama_chat;
  Extras extras;
  extras.at_once = [chat](const Json& body, const Served& served) {
    return services::ollama_load_reply(body, served.name, chat);
  };
  co_await generate_with(context, connection, *route.protocol, std::move(extras));
}

Handled ollama_version(Context&, Connection& connection, const Route&) {
  const Json body{{"version", api_version}, {"hearth", HEARTH_VERSION}};
  co_await connection.reply(json_reply(200, body));
}

Handled ollama_tags(Context& context, Connection& connection, const Route&) {
  co_await about_models(context, connection, installed_models);
}

Handled ollama_ps(Context& context, Connection& connection, const Route&) {
  co_await about_models(context, connection, running_models);
}

Handled ollama_show(Context& context, Connection& connection, const Route&) {
  auto body = co_await read_object(context, connection);
  const auto first = co_await context.wait_for_rows(connection);
  if (connection.gone()) co_return;
  if (body && !first) body = fail(first.error());
  if (body) body = show(context, *body);
  HttpReply reply;
  if (body) {
    reply = json_reply(200, *body);
  } else {
    reply = protocol_error(connection, services::ollama_chat, body.error());
  }
  co_await connection.reply(std::move(reply));
}

}  // namespace hearth::server
