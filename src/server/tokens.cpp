// /tokenize and /detokenize, for both llama.cpp's and vLLM's field names.
#include <fmt/format.h>

#include <limits>

#include "server/handlers.h"
#include "services/chat/fields.h"
#include "services/chat/prompt.h"
#include "services/chat/token_bytes.h"

namespace hearth::server {
namespace {

using services::field;
using services::wrong_value;
using Model = std::shared_ptr<services::LoadedModel>;
using Ids = std::vector<text::TokenId>;

Result<Json> object_of(const std::string& body) {
  auto json = parse_json(body);
  if (json && !json->is_object()) {
    return fail(ErrorCode::invalid_request, "invalid JSON body: expected an object");
  }
  return json;
}

/// Ids of a text or of a conversation as the chat route would send it.
Result<Ids> ids_of(const Json& body, const Model& model, const services::ServerDefaults& defaults) {
  if (field(body, "messages")) {
    auto request = services::openai_chat.parse(body, model->id);
    if (!request) return fail(request.error());
    return services::encode_input(*model, request->input, defaults);
  }
  const Json* text = field(body, "content") ? field(body, "content") : field(body, "prompt");
  if (!text || !text->is_string()) {
    return fail(wrong_value("content", text ? *text : Json(), "a string (or send `messages`)"));
  }
  auto special = services::read_bool(body, "add_special");
  if (special && !*special) special = services::read_bool(body, "add_special_tokens");
  if (!special) return fail(special.error());
  auto markers = services::read_bool(body, "parse_special");
  if (!markers) return fail(markers.error());
  return model->tokenizer->encode(
      text->get_ref<const std::string&>(),
      {.add_special = special->value_or(false), .parse_markers = markers->value_or(true)});
}

/// {"id","piece"}: the piece as text, or as a list of bytes where it is part of a character.
Json piece_of(const text::Tokenizer& tokenizer, text::TokenId id) {
  const std::string bytes = services::token_bytes(tokenizer, id);
  if (services::is_utf8(bytes)) return {{"id", id}, {"piece", bytes}};
  Json list = Json::array();
  for (const unsigned char byte : bytes) list.push_back(int(byte));
  return {{"id", id}, {"piece", std::move(list)}};
}

Result<Json> tokenized(const std::string& text, const Model& model,
                       const services::ServerDefaults& defaults) {
  auto body = object_of(text);
  if (!body) return body;
  auto pieces = services::read_bool(*body, "with_pieces");
  if (!pieces) return fail(pieces.error());
  auto ids = ids_of(*body, model, defaults);
  if (!ids) return fail(ids.error());
  Json tokens = *ids;
  if (pieces->value_or(false)) {
    tokens = Json::array();
    for (const auto id : *ids) tokens.push_back(piece_of(*model->tokenizer, id));
  }
  return Json{{"tokens", std::move(tokens)},
              {"count", ids->size()},
              {"max_model_len", model->info.context_length}};
}

Result<Json> detokenized(const std::string& text, const Model& model) {
  auto body = object_of(text);
  if (!body) return body;
  const Json* tokens = field(*body, "tokens");
  if (!tokens || !tokens->is_array()) {
    return fail(wrong_value("tokens", tokens ? *tokens : Json(), "a list of token ids"));
  }
  Ids ids;
  for (const Json& id : *tokens) {
    const double value = id.is_number_integer() ? id.get<double>() : -1;
    if (value < 0 || value >= model->tokenizer->vocab_size()) {
      return fail(wrong_value(
          "tokens", id, fmt::format("token ids from 0 to {}", model->tokenizer->vocab_size() - 1)));
    }
    ids.push_back(id.get<text::TokenId>());
  }
  const std::string content = model->tokenizer->decode(ids, false);
  return Json{{"content", content}, {"prompt", content}};
}

template <class Work>
Handled answer_with(Context& context, Connection& connection, Work work) {
  const auto model = co_await context.wait_for_model(connection);
  if (connection.gone()) co_return;
  if (!model) {
    co_await connection.reply(error_reply(model.error()));
    co_return;
  }
  auto job = [work, body = std::move(connection.request().body), loaded = *model] {
    return work(body, loaded);
  };
  const auto result = co_await context.prepare(std::move(job));
  // Named: g++ 12 destroys a conditional's temporary twice inside a co_await.
  HttpReply reply = result ? json_reply(200, *result) : error_reply(result.error());
  co_await connection.reply(std::move(reply));
}

}  // namespace

Handled tokenize(Context& context, Connection& connection, const Route&) {
  auto work = [defaults = context.options.defaults](const std::string& body, const Model& model) {
    return tokenized(body, model, defaults);
  };
  co_await answer_with(context, connection, std::move(work));
}

Handled detokenize(Context& context, Connection& connection, const Route&) {
  co_await answer_with(context, connection, detokenized);
}

}  // namespace hearth::server
