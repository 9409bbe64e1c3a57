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

std::string modified_at(const Context& context) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(context.model->path, error);
  if (error) return utc(context.started);
  const auto age = std::filesystem::file_time_type::clock::now() - written;
  const auto at = std::chrono::system_clock::now() - age;
  return utc(std::chrono::time_point_cast<std::chrono::system_clock::duration>(at));
}

/// An identity in the form that clients expect: SHA-256, of what tells models apart here.
std::string digest_of(const Context& context) {
  const auto& info = context.model->info;
  const std::string text = fmt::format("{}|{}|{}|{}", context.model->id, info.weight_bytes,
                                       info.parameters, info.quantization);
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

Json details_of(const services::LoadedModel& model) {
  const bool gguf = model.path.extension() == ".gguf";
  return {{"parent_model", ""},
          {"format", gguf ? "gguf" : "safetensors"},
          {"family", model.info.model_type},
          {"families", {model.info.model_type}},
          {"parameter_size", rounded_count(double(model.info.parameters))},
          {"quantization_level", model.info.quantization}};
}

Json model_entry(const Context& context) {
  return {{"name", context.model_name},          {"model", context.model_name},
          {"modified_at", modified_at(context)}, {"size", context.model->info.weight_bytes},
          {"digest", digest_of(context)},        {"details", details_of(*context.model)}};
}

Json capabilities_of(const services::LoadedModel& model) {
  Json capabilities{"completion"};
  if (model.chat_template && model.chat_template->supports_tools()) {
    capabilities.push_back("tools");
  }
  if (model.chat_template && model.chat_template->supports_thinking()) {
    capabilities.push_back("thinking");
  }
  return capabilities;
}

Json model_info_of(const Context& context) {
  const auto& info = context.model->info;
  const std::string& family = info.model_type;
  return {{"general.architecture", family},
          {"general.basename", context.model_name},
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

Json shown_model(const Context& context) {
  const auto& model = *context.model;
  return {{"modelfile", fmt::format("FROM {}\n", context.model_name)},
          {"parameters", parameters_of(model.defaults)},
          {"template", model.chat_template ? model.chat_template->source() : ""},
          {"details", details_of(model)},
          {"model_info", model_info_of(context)},
          {"capabilities", capabilities_of(model)},
          {"modified_at", modified_at(context)}};
}

Result<Json> show(const Context& context, const Json& body) {
  const Json* name = services::field(body, "model");
  if (!name) name = services::field(body, "name");
  if (!name || !name->is_string()) {
    return fail(services::wrong_value("model", name ? *name : Json(), "the name of a model"));
  }
  const auto& asked = name->get_ref<const std::string&>();
  if (!names_served_model(context, asked)) return fail(unknown_model(context, asked));
  return shown_model(context);
}

/// What `make` says about the model, once there is one.
template <class Make>
Handled about_model(Context& context, Connection& connection, Make make) {
  const auto model = co_await context.wait_for_model(connection);
  if (connection.gone()) co_return;
  HttpReply reply;
  if (model) {
    reply = json_reply(200, make(context));
  } else {
    reply = protocol_error(connection, services::ollama_chat, model.error());
  }
  co_await connection.reply(std::move(reply));
}

Json running_models(const Context& context) {
  Json entry = model_entry(context);
  entry.erase("modified_at");
  entry["expires_at"] = utc(context.started + std::chrono::years(100));  // it stays loaded
  entry["size_vram"] = context.model->info.weight_bytes;
  entry["context_length"] = context.model->info.context_length;
  return {{"models", Json::array({std::move(entry)})}};
}

Json installed_models(const Context& context) {
  return {{"models", Json::array({model_entry(context)})}};
}

}  // namespace

Handled ollama_answer(Context& context, Connection& connection, const Route& route) {
  const bool chat = route.protocol == &services::ollama_chat;
  Extras extras;
  extras.at_once = [&context, chat](const Json& body) {
    return services::ollama_load_reply(body, context.model_name, chat);
  };
  co_await generate_with(context, connection, *route.protocol, std::move(extras));
}

Handled ollama_version(Context&, Connection& connection, const Route&) {
  const Json body{{"version", api_version}, {"hearth", HEARTH_VERSION}};
  co_await connection.reply(json_reply(200, body));
}

Handled ollama_tags(Context& context, Connection& connection, const Route&) {
  co_await about_model(context, connection, installed_models);
}

Handled ollama_ps(Context& context, Connection& connection, const Route&) {
  co_await about_model(context, connection, running_models);
}

Handled ollama_show(Context& context, Connection& connection, const Route&) {
  auto work = [&context](const Json& body, const ModelPtr&) { return show(context, body); };
  co_await answer_about(context, connection, services::ollama_chat, std::move(work));
}

Handled ollama_embed(Context& context, Connection& connection, const Route&) {
  auto refuse = [&context](const Json&, const ModelPtr&) -> Result<Json> {
    return fail(ErrorCode::invalid_request,
                fmt::format("{} is a chat model and makes no embeddings; serve an embedding model",
                            context.model_name));
  };
  co_await answer_about(context, connection, services::ollama_chat, std::move(refuse));
}

}  // namespace hearth::server
