// What each route does. All run on the I/O thread and hand heavy work to Context::prepare().
#pragma once

#include "server/routes.h"

namespace hearth::server {

using Handled = asio::awaitable<void>;

/// A chat or completion of any protocol.
Handled generate(Context&, Connection&, const Route&);

/// Prompt tokens of a body of the route's protocol, without running it: Anthropic's count_tokens.
Handled count_tokens(Context&, Connection&, const Route&);

/// The Responses wire, and what it keeps.
Handled respond(Context&, Connection&, const Route&);
Handled show_response(Context&, Connection&, const Route&);
Handled delete_response(Context&, Connection&, const Route&);
Handled count_input_tokens(Context&, Connection&, const Route&);

/// Ollama's API.
Handled ollama_answer(Context&, Connection&, const Route&);
Handled ollama_version(Context&, Connection&, const Route&);
Handled ollama_tags(Context&, Connection&, const Route&);
Handled ollama_ps(Context&, Connection&, const Route&);
Handled ollama_show(Context&, Connection&, const Route&);
Handled ollama_embed(Context&, Connection&, const Route&);

Handled health(Context&, Connection&, const Route&);
Handled about(Context&, Connection&, const Route&);
Handled list_models(Context&, Connection&, const Route&);
Handled show_model(Context&, Connection&, const Route&);
/// The processes that run the models.
Handled engine_process(Context&, Connection&, const Route&);
/// A worker's end, by its parent.
Handled share(Context&, Connection&, const Route&);
Handled drain(Context&, Connection&, const Route&);
Handled stats(Context&, Connection&, const Route&);
Handled metrics(Context&, Connection&, const Route&);
Handled flush_cache(Context&, Connection&, const Route&);
/// {"session_id"} to {"closed"}.
Handled close_cache_session(Context&, Connection&, const Route&);
Handled openapi(Context&, Connection&, const Route&);

/// {"content" or "prompt" or "messages"} to {"tokens","count"}, with "with_pieces" to pieces.
Handled tokenize(Context&, Connection&, const Route&);
/// {"tokens"} to {"content","prompt"}.
Handled detokenize(Context&, Connection&, const Route&);

/// Texts to vectors.
Handled embeddings(Context&, Connection&, const Route&);

/// The built-in chat page and its two files.
Handled page(Context&, Connection&, const Route&);

}  // namespace hearth::server
