// Which session of a client a request belongs to, so that its part of the prompt cache stays a
// little longer. It changes nothing else.
#pragma once

#include <string>

#include "server/message.h"

namespace hearth::server {

/// What a request's head says, in the order in which it counts.
struct SessionHeaders {
  std::string affinity;     // x-session-affinity
  std::string session;      // session_id
  std::string claude_code;  // x-claude-code-session-id, on Messages only
  bool messages = false;    // the request is one of Anthropic's Messages
};
SessionHeaders session_headers(const HttpRequest& request);

/// The first that is a string and not empty: the body's `session_id` and `prompt_cache_key`, the
/// headers, and on Messages the session in `metadata.user_id`. Empty: none.
/// Source: server-api.md, 11.2.
std::string cache_session(const Json& body, const SessionHeaders& headers);

}  // namespace hearth::server
