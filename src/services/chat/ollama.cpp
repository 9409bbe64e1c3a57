// POST /api/chat and /api/generate: Ollama's requests to the neutral one.
#include "services/chat/ollama.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "services/chat/fields.h"
#include "services/chat/normalise.h"
#include "services/chat/ollama_options.h"
#include "services/chat/origins.h"

namespace hearth::services {
namespace {

Json image_parts(const Json& images) {
  Json parts = Json::array();
  for (const Json& image : images) {
    const std::string data = image.is_string() ? image.get<std::string>() : image.dump();
    parts.push_back({{"type", "image_url"}, {"image_url", {{"url", "data:;base64," + data}}}});
  }
  return parts;
}

/// Text, and images as parts after it.
Result<Json> content_with_images(const Json& content, const Json& holder,
                                 const std::string& where) {
  const Json* images = field(holder, "images");
  if (!images) return content;
  if (!images->is_array()) return fail(wrong_value(where, *images, "a list of base64 images"));
  if (images->empty()) return content;
  Json parts = image_parts(*images);
  parts.insert(parts.begin(), Json{{"type", "text"}, {"text", content}});
  return parts;
}

Result<Json> ollama_message(const Json& sent, const std::string& where) {
  if (!sent.is_object()) return fail(wrong_value(where, sent, "an object with role and content"));
  const Json* content = field(sent, "content");
  if (content && !content->is_string()) {
    return fail(wrong_value(where + ".content", *content, "a string"));
  }
  auto whole = content_with_images(content ? *content : Json(""), sent, where + ".images");
  if (!whole) return whole;
  Json message{{"role", sent.value("role", Json())}, {"content", std::move(*whole)}};
  constexpr std::pair<const char*, const char*> renamed[] = {{"thinking", "reasoning_content"},
                                                             {"tool_name", "name"},
                                                             {"tool_call_id", "tool_call_id"},
                                                             {"tool_calls", "tool_calls"}};
  for (const auto& [theirs, ours] : renamed) {
    if (const Json* value = field(sent, theirs)) message[ours] = *value;
  }
  return message;
}

Result<Json> ollama_messages(const Json& body, std::string_view model) {
  Converted out;
  const Json* messages = field(body, "messages");
  if (!messages) return fail(ErrorCode::invalid_request, "messages required", "messages");
  if (!messages->is_array()) return fail(wrong_value("messages", *messages, "an array"));
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const std::string where = fmt::format("messages[{}]", i);
    auto message = ollama_message((*messages)[i], where);
    if (!message) return fail(message.error());
    out.add(std::move(*message), where);
  }
  return normalise_converted(out, model);
}

Result<Json> ollama_tools(const Json& body) {
  const Json* sent = field(body, "tools");
  if (!sent) return Json();
  if (!sent->is_array()) return fail(wrong_value("tools", *sent, "an array"));
  Json tools = *sent;
  for (Json& tool : tools) {
    if (tool.is_object() && !field(tool, "type")) tool["type"] = "function";
  }
  return normalise_tools(tools);
}

Result<Request> parse_ollama_chat(const Json& body, std::string_view model) {
  Request request;
  if (auto read = read_ollama_options(body, request); !read) return fail(read.error());
  text::Conversation chat;
  auto messages = ollama_messages(body, model);
  if (!messages) return fail(messages.error());
  chat.messages = std::move(*messages);
  continue_last_turn(chat);
  auto tools = ollama_tools(body);
  if (!tools) return fail(tools.error());
  chat.tools = std::move(*tools);
  auto kwargs = ollama_kwargs(body);
  if (!kwargs) return fail(kwargs.error());
  chat.kwargs = std::move(*kwargs);
  request.input = std::move(chat);
  return request;
}

/// Fields of /api/generate that ask for what is not done here: better no answer than a wrong one.
Result<void> refuse_generate_fields(const Json& body) {
  constexpr std::pair<const char*, const char*> refused[] = {
      {"suffix", "none: this model cannot fill in the middle"},
      {"template", "none: the model's own template is used; `raw` uses none"},
      {"context", "none: send the conversation to /api/chat"}};
  for (const auto& [name, expected] : refused) {
    const Json* value = field(body, name);
    if (value && *value != "" && !value->empty()) return fail(wrong_value(name, *value, expected));
  }
  return {};
}

Result<Request> parse_ollama_generate(const Json& body, std::string_view model) {
  Request request;
  if (auto read = read_ollama_options(body, request); !read) return fail(read.error());
  if (auto ok = refuse_generate_fields(body); !ok) return fail(ok.error());
  auto prompt = read_string(body, "prompt");
  if (!prompt) return fail(prompt.error());
  auto system = read_string(body, "system");
  if (!system) return fail(system.error());
  auto raw = read_bool(body, "raw");
  if (!raw) return fail(raw.error());
  auto content = content_with_images(prompt->value_or(""), body, "images");
  if (!content) return fail(content.error());
  Converted turns;
  if (!system->value_or("").empty())
    turns.add({{"role", "system"}, {"content", **system}}, "system");
  turns.add({{"role", "user"}, {"content", std::move(*content)}}, "prompt");
  auto messages = normalise_converted(turns, model);
  if (!messages) return fail(messages.error());
  if (raw->value_or(false)) {
    request.input = prompt->value_or("");
    return request;
  }
  text::Conversation chat;
  chat.messages = std::move(*messages);
  auto kwargs = ollama_kwargs(body);
  if (!kwargs) return fail(kwargs.error());
  chat.kwargs = std::move(*kwargs);
  request.input = std::move(chat);
  return request;
}

std::unique_ptr<Encoder> chat_encoder(const Request& request, ReplyInfo info) {
  return ollama_encoder(OllamaRoute::chat, request, std::move(info));
}

std::unique_ptr<Encoder> generate_encoder(const Request& request, ReplyInfo info) {
  return ollama_encoder(OllamaRoute::generate, request, std::move(info));
}

bool drops_model(const Json& body) {
  const Json* keep = field(body, "keep_alive");
  return keep && (*keep == 0 || *keep == "0" || *keep == "0s" || *keep == "0m");
}

}  // namespace

Json ollama_error(const Error& error) { return {{"error", error.message}}; }

std::optional<Json> ollama_load_reply(const Json& body, std::string_view model, bool chat) {
  const Json* input = field(body, chat ? "messages" : "prompt");
  if (input && !(input->is_array() && input->empty()) && *input != "") return std::nullopt;
  if (field(body, "images") || field(body, "suffix")) return std::nullopt;
  Request probe;
  if (!read_ollama_options(body, probe)) return std::nullopt;  // parsing it will say why
  Json reply{{"model", model}, {"created_at", ollama_time()}};
  if (chat) {
    reply["message"] = {{"role", "assistant"}, {"content", ""}};
  } else {
    reply["response"] = "";
  }
  reply["done"] = true;
  reply["done_reason"] = drops_model(body) ? "unload" : "load";
  return reply;
}

std::string ollama_time() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  const std::time_t seconds = nanoseconds / 1'000'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  const auto n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  return fmt::format("{}.{:09}Z", std::string_view(text, n), nanoseconds % 1'000'000'000);
}

constexpr std::string_view json_lines = "application/x-ndjson";

const Protocol ollama_chat{.path = "/api/chat",
                           .parse = parse_ollama_chat,
                           .encoder = chat_encoder,
                           .error = ollama_error,
                           .stream_type = json_lines};

const Protocol ollama_generate{.path = "/api/generate",
                               .parse = parse_ollama_generate,
                               .encoder = generate_encoder,
                               .error = ollama_error,
                               .stream_type = json_lines};

}  // namespace hearth::services
