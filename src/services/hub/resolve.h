// Which model a query means, and which one is picked when nothing is said. Plain functions of the
// index's rows.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "services/hub/record.h"

namespace hearth::services::hub {

/// One row a repository: the snapshot that refs/main names, else the last scanned; ties by path.
/// In the order of their ids.
std::vector<ModelRecord> canonical(std::span<const ModelRecord> records);

/// Case-insensitive: is `query` part of the repository's id or of its model_type?
bool matches(const ModelRecord& record, std::string_view query);

/// The one repository that a query means: an exact id, `id@revision` (a prefix of the commit), or
/// a substring of id or model_type. Drafters never match; chat models win over other kinds when a
/// substring fits both.
/// Errors: not_found, with the nearest ids; invalid_request listing the repositories that match.
Result<ModelRecord> resolve(std::span<const ModelRecord> records, std::string_view query);

struct PickOptions {
  std::int64_t memory_bytes = 0;                      // of the device
  std::function<bool(const ModelRecord&)> supported;  // can this program run it?
  std::string preferred = "mlx-community/gemma-4-e4b-it-OptiQ-4bit";
  std::int64_t context = 8192;  // tokens that must fit too
};

/// The chat model for a run that names none: the preferred one when it fits in three quarters of
/// memory, else the largest within 60 % of memory, else the largest that fits at all.
/// Errors: not_found when there is none, or none fits (both numbers).
Result<ModelRecord> auto_pick(std::span<const ModelRecord> records, const PickOptions& options);

/// The embedding model for a run that names none: the first by id that this program can run.
/// Errors: not_found when there is none.
Result<ModelRecord> pick_embedder(std::span<const ModelRecord> records,
                                  const std::function<bool(const ModelRecord&)>& supported);

}  // namespace hearth::services::hub
