// POST /v1/messages/count_tokens: never queues behind generation, since it never meets the engine.
#include "server/generate.h"
#include "server/handlers.h"
#include "services/chat/generation.h"

namespace hearth::server {

Handled count_tokens(Context& context, Connection& connection, const Route& route) {
  const services::Protocol& protocol = *route.protocol;
  auto count = [&protocol](const Json& body, const Served& served) -> Result<Json> {
    auto request = protocol.parse(body, served.model->id);
    if (!request) return fail(request.error());
    const auto ids = services::prompt_ids(*served.model, *request, served.defaults);
    if (!ids) return fail(ids.error());
    return Json{{"input_tokens", ids->size()}};
  };
  co_await answer_about(context, connection, protocol, std::move(count));
}

}  // namespace hearth::server
