// ls: the models on this machine.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/model_argument.h"
#include "cli/size.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "services/hub/resolve.h"

namespace hearth::cli {
namespace {

namespace hub = services::hub;

std::vector<std::string> capabilities(const hub::ModelRecord& record) {
  std::vector<std::string> out;
  if (record.kind == "chat") out.emplace_back(record.has_chat_template ? "chat" : "text");
  if (record.kind == "embedding") out.emplace_back("embed");
  if (record.kind == "whisper") out.emplace_back("transcribe");
  if (record.kind == "drafter") out.emplace_back("draft");
  if (record.vision()) out.emplace_back("vision");
  if (record.audio()) out.emplace_back("audio");
  if (record.has_tool_template) out.emplace_back("tools");
  if (record.has_kv_config) out.emplace_back("kv-quant");
  return out;
}

std::string support(const hub::ModelRecord& record) {
  if (!record.error.empty()) return "broken";
  return supported(record)
             ? "supported (generic)"
             : fmt::format("unsupported ({})",
                           record.model_type.empty() ? "no model_type" : record.model_type);
}

Json as_json(const hub::ModelRecord& record, bool is_canonical) {
  Json json = {{"id", record.repo_id},
               {"path", record.path},
               {"revision", record.revision.empty() ? Json() : Json(record.revision)},
               {"canonical", is_canonical},
               {"model_type", record.model_type},
               {"type", record.kind},
               {"size_bytes", record.size_bytes},
               {"parameters", record.param_count},
               {"quantization", record.quantization()},
               {"context_length", record.max_positions},
               {"license", record.license.empty() ? Json() : Json(record.license)},
               {"capabilities", capabilities(record)},
               {"supported", record.error.empty() && supported(record)},
               {"support", support(record)}};
  if (!record.error.empty()) json["error"] = record.error;
  return json;
}

class Ls : public Command {
 public:
  void declare(OptionTable& table) override {
    table.positional("query", "part of a name or of a model type", &query_);
    table.add(flag("--vision", &vision_, "only models that see"));
    Option size = text("--max-size", "SIZE", &size_text_, "only models up to this size, like 10GB");
    size.set = [this](std::string_view text) -> Result<void> {
      max_size_ = parse_size(text, SizeUnit::gigabytes);
      if (!max_size_) return fail(ErrorCode::usage, "a size such as 10GB, 8GiB or 900MB");
      return {};
    };
    table.add(std::move(size));
    table.add(
        choice("--type", "TYPE", &type_, {"chat", "embed", "whisper", "draft"}, "only this kind"));
    table.add(
        flag("--all-revisions", &all_revisions_, "every snapshot; * marks the one that is used"));
    table.add(flag("--all", &all_, "broken and incomplete ones too, with the reason"));
    table.add(flag("--json", &json_, "one JSON document")).in_config = false;
  }

  Result<int> run(Context& context) override {
    const auto records = open_registry(context).all();
    const auto canonical = hub::canonical(records);
    const auto is_canonical = [&](const hub::ModelRecord& record) {
      return std::ranges::any_of(canonical, [&](const auto& c) { return c.path == record.path; });
    };
    std::vector<hub::ModelRecord> shown;
    for (const auto& record : all_revisions_ ? records : canonical) {
      if (wanted(record)) shown.push_back(record);
    }
    std::ranges::stable_sort(shown, {}, &hub::ModelRecord::repo_id);
    if (json_) {
      Json json = Json::array();
      for (const auto& record : shown) json.push_back(as_json(record, is_canonical(record)));
      context.terminal.out(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    } else if (shown.empty()) {
      tell_nothing(context, records.empty());
    } else {
      print(context, shown, is_canonical);
    }
    return exit_ok;
  }

 private:
  bool wanted(const hub::ModelRecord& record) const {
    const std::string kind = type_ == "embed" ? "embedding" : type_ == "draft" ? "drafter" : type_;
    if (!all_ && !record.error.empty()) return false;
    if (query_ && !hub::matches(record, *query_)) return false;
    if (vision_ && !record.vision()) return false;
    if (!kind.empty() && record.kind != kind) return false;
    return !max_size_ || static_cast<std::uint64_t>(record.size_bytes) <= *max_size_;
  }

  void tell_nothing(Context& context, bool none_at_all) const {
    if (none_at_all) {
      context.terminal.note(
          fmt::format("No models yet. Put a model folder into {} or into the Hub "
                      "cache {}, or index a folder with `hearth scan --dir FOLDER`.",
                      (context.folders.data / "models").string(), context.folders.hub.string()));
    } else {
      context.terminal.note("no models match");
    }
  }

  template <class IsCanonical>
  void print(Context& context, const std::vector<hub::ModelRecord>& records,
             const IsCanonical& is_canonical) const {
    std::vector<std::vector<std::string>> rows{
        {"MODEL", "SIZE", "PARAMS", "WEIGHTS", "LICENCE", "CAN", "SUPPORT"}};
    for (const auto& record : records) {
      std::string name = record.repo_id;
      if (all_revisions_) {
        if (!record.revision.empty()) name += fmt::format("@{}", record.revision.substr(0, 12));
        name.insert(0, is_canonical(record) ? "* " : "  ");
      }
      rows.push_back({name, human_size(static_cast<std::uint64_t>(record.size_bytes)),
                      human_count(static_cast<std::uint64_t>(record.param_count)),
                      record.quantization(), record.license.empty() ? "-" : record.license,
                      fmt::format("{}", fmt::join(capabilities(record), " ")),
                      record.error.empty() ? support(record) : "broken: " + record.error});
    }
    context.terminal.out(layout_table(rows, {false, true, true, false, false, false, false}));
  }

  std::optional<std::string> query_;
  std::string size_text_, type_;
  std::optional<std::uint64_t> max_size_;
  bool vision_ = false, all_revisions_ = false, all_ = false, json_ = false;
};

}  // namespace

Verb ls_verb() {
  return {.name = "ls",
          .aliases = {"list"},
          .summary = "The models on this machine",
          .usage = "[query] [flags]",
          .notes = "",
          .make = []() -> std::unique_ptr<Command> { return std::make_unique<Ls>(); }};
}

}  // namespace hearth::cli
