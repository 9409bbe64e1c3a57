// POST /v1/embeddings, and Ollama's two forms of it.
#include <fmt/format.h>

#include "server/generate.h"
#include "server/handlers.h"
#include "services/chat/fields.h"
#include "services/embedding/wire.h"

namespace hearth::server {
namespace {

Result<Json> embedded(const Json& body, const Served& served) {
  auto call = services::parse_embeddings(body);
  if (!call) return fail(call.error());
  const auto vectors = services::embed(*served.model, call->request);
  if (!vectors) return fail(vectors.error());
  return services::embeddings_reply(*vectors, served.name, call->base64);
}

/// Ollama: {"input"} to {"embeddings"}, or the older {"prompt"} to {"embedding"}. It cuts what is
/// too long unless told not to.
Result<Json> embedded_for_ollama(const Json& body, const Served& served) {
  const bool older = services::field(body, "prompt") != nullptr;
  Json asked{{"input", older ? body["prompt"] : body.value("input", Json())},
             {"truncate", body.value("truncate", Json(true))},
             {"dimensions", body.value("dimensions", Json())}};
  auto call = services::parse_embeddings(asked);
  if (!call) return fail(call.error());
  const auto vectors = services::embed(*served.model, call->request);
  if (!vectors) return fail(vectors.error());
  if (older) return Json{{"embedding", vectors->vectors.front()}};
  return Json{{"model", served.name},
              {"embeddings", vectors->vectors},
              {"prompt_eval_count", vectors->tokens}};
}

}  // namespace

Handled embeddings(Context& context, Connection& connection, const Route&) {
  co_await answer_about(context, connection, services::openai_chat, embedded);
}

Handled ollama_embed(Context& context, Connection& connection, const Route&) {
  co_await answer_about(context, connection, services::ollama_chat, embedded_for_ollama);
}

}  // namespace hearth::server
