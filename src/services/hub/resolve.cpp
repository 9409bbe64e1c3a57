#include "services/hub/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "base/ascii.h"

namespace hearth::services::hub {
namespace {

/// Is `a` the better snapshot of one repository?
bool better(const ModelRecord& a, const ModelRecord& b) {
  if (a.is_main != b.is_main) return a.is_main;
  if (a.scanned_at != b.scanned_at) return a.scanned_at > b.scanned_at;
  return a.path < b.path;
}

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

std::string listed(std::span<const ModelRecord> records) {
  std::string out;
  for (const auto& record : records) {
    out += fmt::format("\n  {}  ({:.2f} GB, {})", record.repo_id,
                       static_cast<double>(record.size_bytes) / 1e9, record.quantization());
  }
  return out;
}

/// Letters that two words share as pairs, from 0 to 1: a plain measure of likeness.
double likeness(std::string_view a, std::string_view b) {
  std::map<std::string, int> pairs;
  for (std::size_t i = 0; i + 1 < a.size(); ++i) ++pairs[std::string(a.substr(i, 2))];
  int shared = 0;
  for (std::size_t i = 0; i + 1 < b.size(); ++i) shared += pairs[std::string(b.substr(i, 2))]-- > 0;
  const auto total = a.size() + b.size();
  return total < 4 ? 0 : 2.0 * shared / static_cast<double>(total - 2);
}

std::string nearest_ids(std::span<const ModelRecord> records, std::string_view query) {
  const ModelRecord* best = nullptr;
  double most = 0.3;
  for (const auto& record : records) {
    const auto id = ascii_lower(record.repo_id);
    const auto name = id.substr(id.rfind('/') + 1);
    const double like =
        std::max(likeness(id, ascii_lower(query)), likeness(name, ascii_lower(query)));
    if (like > most) best = &record;
    most = std::max(most, like);
  }
  return best == nullptr ? "" : fmt::format("; did you mean {}?", best->repo_id);
}

std::optional<ModelRecord> at_revision(std::span<const ModelRecord> records, std::string_view id,
                                       std::string_view revision) {
  for (const auto& record : records) {
    const bool same = ascii_lower(record.repo_id) == ascii_lower(id);
    if (same && !revision.empty() && record.revision.starts_with(revision)) return record;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ModelRecord> canonical(std::span<const ModelRecord> records) {
  std::map<std::string, ModelRecord> best;
  for (const auto& record : records) {
    const auto [row, added] = best.emplace(record.repo_id, record);
    if (!added && better(record, row->second)) row->second = record;
  }
  std::vector<ModelRecord> out;
  for (auto& [id, record] : best) out.push_back(std::move(record));
  return out;
}

bool matches(const ModelRecord& record, std::string_view query) {
  const auto wanted = ascii_lower(query);
  return ascii_lower(record.repo_id).find(wanted) != std::string::npos ||
         ascii_lower(record.model_type).find(wanted) != std::string::npos;
}

Result<ModelRecord> resolve(std::span<const ModelRecord> records, std::string_view query) {
  const auto repositories = canonical(records);
  for (const auto& record : repositories) {
    if (ascii_lower(record.repo_id) == ascii_lower(query)) return record;
  }
  if (const auto at = query.rfind('@'); at != query.npos) {
    if (auto found = at_revision(records, query.substr(0, at), query.substr(at + 1))) return *found;
  }
  std::vector<ModelRecord> found;
  for (const auto& record : repositories) {
    if (record.kind != "drafter" && matches(record, query)) found.push_back(record);
  }
  const auto is_chat = [](const ModelRecord& record) { return record.kind == "chat"; };
  if (std::ranges::any_of(found, is_chat)) std::erase_if(found, std::not_fn(is_chat));
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return fail(ErrorCode::invalid_request,
                fmt::format("'{}' matches {} models; name one of them in full:{}", query,
                            found.size(), listed(found)));
  }
  return fail(ErrorCode::not_found,
              fmt::format("no model on this machine matches '{}'{}; `hearth ls` lists them, "
                          "`hearth scan --dir FOLDER` adds a folder of models",
                          query, nearest_ids(repositories, query)));
}

Result<ModelRecord> auto_pick(std::span<const ModelRecord> records, const PickOptions& options) {
  std::vector<ModelRecord> chat;
  for (auto& record : canonical(records)) {
    const bool ready = record.kind == "chat" && record.error.empty();
    if (ready && options.supported(record)) chat.push_back(std::move(record));
  }
  if (chat.empty()) return fail(ErrorCode::not_found, "no chat model is on this machine");
  const auto needs = [&](const ModelRecord& r) {
    return r.size_bytes + r.kv_bytes(options.context);
  };
  const auto full = static_cast<std::int64_t>(static_cast<double>(options.memory_bytes) * 0.75);
  const auto shared = static_cast<std::int64_t>(static_cast<double>(options.memory_bytes) * 0.6);
  for (const auto& record : chat) {
    if (record.repo_id == options.preferred && needs(record) <= full) return record;
  }
  for (const auto budget : {shared, full}) {
    const ModelRecord* largest = nullptr;
    for (const auto& record : chat) {
      const bool larger = largest == nullptr || record.size_bytes > largest->size_bytes;
      if (needs(record) <= budget && larger) largest = &record;
    }
    if (largest != nullptr) return *largest;
  }
  const auto& smallest = *std::ranges::min_element(chat, {}, needs);
  return fail(ErrorCode::not_found,
              fmt::format("no model fits: the smallest, {}, needs {:.2f} GiB with {} tokens of "
                          "context, {:.2f} GiB are usable; name one with --model to try it",
                          smallest.repo_id, gib(needs(smallest)), options.context, gib(full)));
}

Result<ModelRecord> pick_embedder(std::span<const ModelRecord> records,
                                  const std::function<bool(const ModelRecord&)>& supported) {
  for (auto& record : canonical(records)) {
    if (record.kind == "embedding" && record.error.empty() && supported(record)) return record;
  }
  return fail(ErrorCode::not_found,
              "no embedding model is on this machine, as all-MiniLM-L6-v2 or Qwen3-Embedding are");
}

}  // namespace hearth::services::hub
