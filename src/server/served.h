// A model that is resident, with what answers say of it.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "services/pool/catalog.h"

namespace hearth::server {

class Worker;

struct Served {
  std::string name;                              // its id in the API
  std::shared_ptr<services::LoadedModel> model;  // null when a worker process has it
  std::shared_ptr<Worker> worker;                // null when this process has it
  services::ServerDefaults defaults;
  std::string fingerprint;
  Json row;               // of /v1/models
  std::size_t bytes = 0;  // what it takes

  /// "off" where one row runs at a time, else "batch".
  std::string_view batch_mode() const;
};

using ServedPtr = std::shared_ptr<const Served>;

/// A model of this process, as the catalog's entry says it is to be served.
ServedPtr serve_here(std::shared_ptr<services::LoadedModel> model,
                     const services::CatalogModel& entry);

/// The row of /v1/models for a model that was not resident yet. The times are the server's to fill
/// in.
Json absent_row(const services::CatalogModel& entry);

}  // namespace hearth::server
