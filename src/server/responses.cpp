// /v1/responses: the stored state around the Responses wire.
#include <fmt/format.h>

#include <utility>

#include "server/generate.h"
#include "server/handlers.h"
#include "services/chat/fields.h"
#include "services/chat/generation.h"
#include "services/chat/prompt.h"
#include "services/chat/responses_history.h"

namespace hearth::server {
namespace {

using services::field;
using services::openai_responses;

/// Whether the prompt of a body leaves room for an answer. One that cannot be read does: its error
/// is told by whoever reads it next.
bool fits(const Json& body, const services::LoadedModel& model,
          const services::ServerDefaults& defaults) {
  const auto request = openai_responses.parse(body, model.id);
  if (!request) return true;
  if (!services::may_fit(model, request->input)) return false;
  const auto ids = services::prompt_ids(model, *request, defaults);
  return !ids || int(ids->size()) < model.info.context_length;
}

/// The body with what went before, cut to what fits. A worker's parent, which keeps the responses,
/// has put the earlier ones in already.
Result<Json> completed(Json body, const Served& served, Context& context) {
  Result<Json> whole = std::move(body);
  if (context.options.unix_socket.empty()) {
    whole = services::with_history(std::move(*whole), context.responses);
  }
  if (!whole) return whole;
  return services::truncated(std::move(*whole), [&](const Json& tried) {
    return fits(tried, *served.model, served.defaults);
  });
}

Error unknown_response(const std::string& id) {
  return {ErrorCode::not_found, fmt::format("no response \"{}\" is stored here", id),
          "response_id"};
}

/// "resp_1/input_items" to "resp_1".
constexpr std::string_view items_suffix = "/input_items";

std::string_view query_of(std::string_view target) {
  const auto mark = target.find('?');
  return mark == target.npos ? std::string_view() : target.substr(mark + 1);
}

HttpReply stored_reply(Context& context, Connection& connection, std::string id) {
  const bool items = id.ends_with(items_suffix);
  if (items) id.resize(id.size() - items_suffix.size());
  const auto stored = context.responses.find(id);
  if (!stored) return protocol_error(connection, openai_responses, unknown_response(id));
  if (!items) return json_reply(200, stored->response);
  const auto page = services::item_page(stored->input, query_of(connection.request().target));
  if (!page) return protocol_error(connection, openai_responses, page.error());
  return json_reply(200, *page);
}

}  // namespace

Handled respond(Context& context, Connection& connection, const Route&) {
  auto kept = std::make_shared<Json>();  // the input that the answer is stored with
  Extras extras;
  extras.complete = [&context, kept](Json body, const Served& served) -> Result<Json> {
    auto whole = completed(std::move(body), served, context);
    if (whole && field(*whole, "input")) *kept = (*whole)["input"];
    return whole;
  };
  extras.finished = [&context, kept](const Json& response) {
    if (response["store"] != true) return;
    context.responses.put({.response = response, .input = services::listed_items(*kept)});
  };
  co_await generate_with(context, connection, openai_responses, std::move(extras));
}

Handled count_input_tokens(Context& context, Connection& connection, const Route&) {
  auto count = [&context](const Json& body, const Served& served) -> Result<Json> {
    auto whole = completed(body, served, context);
    if (!whole) return whole;
    auto request = openai_responses.parse(*whole, served.model->id);
    if (!request) return fail(request.error());
    const auto ids = services::prompt_ids(*served.model, *request, served.defaults);
    if (!ids) return fail(ids.error());
    return Json{{"object", "response.input_tokens"}, {"input_tokens", ids->size()}};
  };
  co_await answer_about(context, connection, openai_responses, std::move(count));
}

Handled show_response(Context& context, Connection& connection, const Route& route) {
  HttpReply reply = stored_reply(context, connection, route.rest(connection.request().path));
  co_await connection.reply(std::move(reply));
}

Handled delete_response(Context& context, Connection& connection, const Route& route) {
  const std::string id = route.rest(connection.request().path);
  const Json gone{{"id", id}, {"object", "response"}, {"deleted", true}};
  HttpReply reply = json_reply(200, gone);
  if (!context.responses.erase(id)) {
    reply = protocol_error(connection, openai_responses, unknown_response(id));
  }
  co_await connection.reply(std::move(reply));
}

}  // namespace hearth::server
