// `serve --isolate` starts this program once more for each model, as `serve --unix SOCKET`.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"
#include "services/pool/catalog.h"

namespace hearth::cli {

/// What the worker of a model is started with, but for its socket: the flags of this command line
/// that are not the parent's own, then those of the model's section in the config file.
/// @param section  its name there; empty: none
std::vector<std::string> worker_arguments(const Context& context, const std::string& section,
                                          const services::CatalogModel& entry);

/// In a worker: ends this process when its standard input is closed, since its parent is gone then.
void end_with_parent();

}  // namespace hearth::cli
