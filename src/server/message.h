// A request and a reply as handlers see them, and the text of replies on the wire.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace hearth::server {

struct HttpRequest {
  std::string method;                                        // "GET"
  std::string target;                                        // as it was sent
  std::string path;                                          // normalised: normal_path()
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool keep_alive = true;
  bool http11 = true;

  /// The first header of that (lower-case) name; empty when there is none.
  std::string_view header(std::string_view name) const;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
};

HttpReply json_reply(int status, const Json& body);

/// The error in OpenAI's envelope, with its status.
HttpReply error_reply(const Error& error);

/// Path of a request target: no query, no doubled or trailing slashes, "." and ".." never resolved.
std::string normal_path(std::string_view target);

/// "%2F" to "/"; broken escapes stay as they are.
std::string percent_decoded(std::string_view text);

/// Status line and headers, without a body. @param length  negative: chunked
std::string reply_head(int status, std::string_view content_type, const Headers& headers,
                       long long length, bool keep_alive);

}  // namespace hearth::server
