#include "server/handlers.h"
#include "server/page_files.h"

namespace hearth::server {
namespace {

Headers safety_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
           "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cache-Control", "no-cache"}};
}

}  // namespace

Handled page(Context&, Connection& connection, const Route& route) {
  for (const PageFile& file : page_files) {
    if (file.path != route.path) continue;
    HttpReply reply{.content_type = std::string(file.content_type),
                    .body = std::string(file.bytes),
                    .headers = safety_headers()};
    co_await connection.reply(std::move(reply));
    co_return;
  }
}

}  // namespace hearth::server
