#include "cli/chat/session.h"

#include <fmt/format.h>

#include "base/file.h"

namespace hearth::cli {
namespace {

tl::unexpected<Error> not_ours(const fs::path& file, const std::string& what) {
  return fail(ErrorCode::corrupt_file,
              fmt::format("{}: {}; expected {{\"messages\": [{{\"role\", \"content\"}}, ...]}}",
                          file.string(), what));
}

bool is_message(const Json& message) {
  if (!message.is_object()) return false;
  const auto role = message.value("role", Json());
  return (role == "system" || role == "user" || role == "assistant") &&
         message.value("content", Json()).is_string();
}

}  // namespace

Json Session::messages() const {
  Json out = Json::array();
  if (!system_.empty()) out.push_back({{"role", "system"}, {"content", system_}});
  for (const auto& turn : turns_) out.push_back(turn);
  return out;
}

Result<void> Session::save(const fs::path& file, const std::string& model) const {
  const Json json = {{"model", model}, {"messages", messages()}};
  return write_file(file, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<void> Session::load(const fs::path& file) {
  const auto json = read_json_file(file);
  if (!json) return fail(json.error());
  if (!json->is_object() || !json->contains("messages") || !(*json)["messages"].is_array()) {
    return not_ours(file, "no list of messages");
  }
  std::string system;
  Json turns = Json::array();
  for (const auto& message : (*json)["messages"]) {
    if (!is_message(message))
      return not_ours(file, fmt::format("message {} is none", turns.size()));
    if (message["role"] == "system") {
      system = message["content"].get<std::string>();
    } else {
      turns.push_back({{"role", message["role"]}, {"content", message["content"]}});
    }
  }
  system_ = std::move(system);
  turns_ = std::move(turns);
  return {};
}

}  // namespace hearth::cli
