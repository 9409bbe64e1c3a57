// /tokenize and /detokenize, for both llama.cpp's and vLLM's field names.
#include <fmt/format.h>

#include <limits>

#include "server/generate.h"
#include "server/handlers.h"
#include "services/chat/fields.h"
#include "services/chat/prompt.h"
#include "services/chat/token_bytes.h"

namespace hearth::server {
namespace {

using services::field;
using services::wrong_value;
using Ids = std::vector<text::TokenId>;

/// Ids of a text or of a conversation as the chat route would send it.
Result<Ids> ids_of(const Json& body, const Served& served) {
  if (field(body, "messages")) {
    auto request = services::openai_chat.parse(body, served.model->id);
    if (!request) return fail(request.error());
    return services::encode_input(*served.model, request->input, served.defaults);
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
  return served.model->tokenizer->encode(
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

Result<Json> tokenized(const Json& body, const Served& served) {
  auto pieces = services::read_bool(body, "with_pieces");
  if (!pieces) return fail(pieces.error());
  auto ids = ids_of(body, served);
  if (!ids) return fail(ids.error());
  Json tokens = *ids;
  if (pieces->value_or(false)) {
    tokens = Json::array();
    for (const auto id : *ids) tokens.push_back(piece_of(*served.model->tokenizer, id));
  }
  return Json{{"tokens", std::move(tokens)},
              {"count", ids->size()},
              {"max_model_len", served.model->info.context_length}};
}

Result<Json> detokenized(const Json& body, const Served& served) {
  const text::Tokenizer& tokenizer = *served.model->tokenizer;
  const Json* tokens = field(body, "tokens");
  if (!tokens || !tokens->is_array()) {
    return fail(wrong_value("tokens", tokens ? *tokens : Json(), "a list of token ids"));
  }
  Ids ids;
  for (const Json& id : *tokens) {
    const double value = id.is_number_integer() ? id.get<double>() : -1;
    if (value < 0 || value >= tokenizer.vocab_size()) {
      return fail(wrong_value("tokens", id,
                              fmt::format("token ids from 0 to {}", tokenizer.vocab_size() - 1)));
    }
    ids.push_back(id.get<text::TokenId>());
  }
  const std::string content = tokenizer.decode(ids, false);
  return Json{{"content", content}, {"prompt", content}};
}

}  // namespace

Handled tokenize(Context& context, Connection& connection, const Route&) {
  co_await answer_about(context, connection, services::openai_chat, tokenized);
}

Handled detokenize(Context& context, Connection& connection, const Route&) {
  co_await answer_about(context, connection, services::openai_chat, detokenized);
}

}  // namespace hearth::server
