// OpenAI's embeddings on the wire.
#pragma once

#include "base/json.h"
#include "services/embedding/embed.h"

namespace hearth::services {

struct EmbeddingCall {
  EmbeddingRequest request;
  bool base64 = false;  // vectors as little-endian float32, in base64
};

/// The body of POST /v1/embeddings. Errors: invalid_request naming the field.
Result<EmbeddingCall> parse_embeddings(const Json& body);

/// {"object":"list","data":[...],"model","usage"}
Json embeddings_reply(const Embeddings& embeddings, const std::string& model, bool base64);

}  // namespace hearth::services
