// The OpenAPI document: paths from the route table, ranges from the sampling options, the rest from
// openapi.json.
#pragma once

#include <span>

#include "base/json.h"
#include "server/routes.h"

namespace hearth::server {

/// openapi.json as it is embedded: {"routes": {"METHOD PATH": ...}, "schemas": {...}}
const Json& route_descriptions();

/// OpenAPI 3.1. A route that openapi.json does not describe has no summary.
Json openapi_document(std::span<const Route> routes);

}  // namespace hearth::server
