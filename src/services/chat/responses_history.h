// What a request of the Responses wire goes on from, and what of it is kept for the next.
#pragma once

#include <functional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "services/chat/response_store.h"

namespace hearth::services {

/// The items of `input`, each with a type, an id and its content as a list of parts: what
/// input_items shows. A string is one user message.
Json listed_items(const Json& input);

/// The body with the input, output and instructions of `previous_response_id` before its own; its
/// instructions replace the earlier ones. Reasoning of earlier answers is left out.
/// Errors: invalid_request for a wrong type of either field; not_found naming an id that is unknown
/// or too old.
Result<Json> with_history(Json body, ResponseStore& store);

/// One page of items. @param query  of the URL: order (asc or desc), limit, after
/// Errors: invalid_request naming the parameter.
Result<Json> item_page(const Json& items, std::string_view query);

/// With `truncation: "auto"` leaves out the oldest turns, each from a user's message to the next
/// with all between, until `fits` says so or one turn is left.
Json truncated(Json body, const std::function<bool(const Json& body)>& fits);

}  // namespace hearth::services
