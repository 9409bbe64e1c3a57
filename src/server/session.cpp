#include "server/session.h"

namespace hearth::server {
namespace {

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// "…_session_<id>" of Claude Code's user ids; newer ones are a JSON object in a string.
std::string session_of_user(const Json& body) {
  const auto metadata = body.find("metadata");
  if (metadata == body.end() || !metadata->is_object()) return "";
  const std::string user = text_at(*metadata, "user_id");
  if (user.starts_with('{')) {
    const auto parsed = parse_json(user);
    return parsed && parsed->is_object() ? text_at(*parsed, "session_id") : "";
  }
  constexpr std::string_view mark = "_session_";
  const auto at = user.rfind(mark);
  return at == user.npos ? "" : user.substr(at + mark.size());
}

}  // namespace

SessionHeaders session_headers(const HttpRequest& request) {
  return {.affinity = std::string(request.header("x-session-affinity")),
          .session = std::string(request.header("session_id")),
          .claude_code = std::string(request.header("x-claude-code-session-id")),
          .messages = request.path == "/v1/messages"};
}

std::string cache_session(const Json& body, const SessionHeaders& headers) {
  for (const auto& found : {text_at(body, "session_id"), text_at(body, "prompt_cache_key"),
                            headers.affinity, headers.session}) {
    if (!found.empty()) return found;
  }
  if (!headers.messages) return "";
  return headers.claude_code.empty() ? session_of_user(body) : headers.claude_code;
}

}  // namespace hearth::server
