#include "server/message.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "server/errors.h"
#include "services/chat/openai_common.h"

namespace hearth::server {

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

HttpReply json_reply(int status, const Json& body) {
  return {.status = status, .body = services::dump(body), .headers = {}};
}

HttpReply error_reply(const Error& error) {
  auto reply = json_reply(status_of(error.code), services::openai_error(error));
  if (error.code == ErrorCode::overloaded) reply.headers.emplace_back("Retry-After", "1");
  if (error.code == ErrorCode::unauthorized) {
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return reply;
}

std::string normal_path(std::string_view target) {
  if (const auto query = target.find_first_of("?#"); query != target.npos) {
    target = target.substr(0, query);
  }
  if (const auto scheme = target.find("://"); scheme != target.npos && !target.starts_with('/')) {
    const auto slash = target.find('/', scheme + 3);  // absolute form: http://host/path
    target = slash == target.npos ? "/" : target.substr(slash);
  }
  std::string path;
  for (const char c : target) {
    if (c != '/' || path.empty() || path.back() != '/') path += c;
  }
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.empty() ? "/" : path;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const char* digits = text.data() + i + 1;
      if (std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
        out += char(byte);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

std::string reply_head(int status, std::string_view content_type, const Headers& headers,
                       long long length, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
  const auto out = std::back_inserter(head);
  if (!content_type.empty()) fmt::format_to(out, "Content-Type: {}\r\n", content_type);
  for (const auto& [name, value] : headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  if (length < 0) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (status != 204) {
    fmt::format_to(out, "Content-Length: {}\r\n", length);
  }
  fmt::format_to(out, "Connection: {}\r\n\r\n", keep_alive ? "keep-alive" : "close");
  return head;
}

}  // namespace hearth::server
