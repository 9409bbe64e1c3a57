#include "server/auth.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

HttpRequest request(Headers headers) {
  HttpRequest out;
  out.method = "POST";
  out.headers = std::move(headers);
  return out;
}

TEST(Host, on_a_loopback_bind_only_loopback_names_pass) {
  for (const char* good : {"localhost", "localhost:8080", "127.0.0.1:8080", "127.9.9.9", "[::1]:80",
                           "LOCALHOST", "app.localhost:1"}) {
    EXPECT_TRUE(check_host(request({{"host", good}}), "127.0.0.1")) << good;
  }
  for (const char* bad : {"evil.example", "localhost.evil.example", "192.168.1.9:8080",
                          "127.0.0.1.evil.example", "[2001:db8::1]"}) {
    EXPECT_EQ(check_host(request({{"host", bad}}), "127.0.0.1").error().code, ErrorCode::forbidden)
        << bad;
    EXPECT_TRUE(check_host(request({{"host", bad}}), "0.0.0.0")) << bad;
  }
}

TEST(Host, http_1_1_needs_one) {
  auto none = request({});
  EXPECT_EQ(check_host(none, "127.0.0.1").error().code, ErrorCode::invalid_request);
  none.http11 = false;
  EXPECT_TRUE(check_host(none, "127.0.0.1"));
}

TEST(Origin, own_and_listed_ones_pass_others_are_not_echoed) {
  const auto allowed = [](const char* origin, std::vector<std::string> listed) {
    return allowed_origin(request({{"host", "localhost:8080"}, {"origin", origin}}), listed);
  };
  EXPECT_EQ(allowed("http://localhost:8080", {}), "http://localhost:8080");
  EXPECT_EQ(allowed("https://app.example", {"https://app.example"}), "https://app.example");
  EXPECT_EQ(allowed("https://app.example", {}), std::nullopt);
  EXPECT_EQ(allowed("https://app.example.evil", {"https://app.example"}), std::nullopt);
  EXPECT_EQ(allowed("null", {}), std::nullopt);
  EXPECT_EQ(allowed("https://any.example", {"*"}), "*");
}

TEST(Origin, a_preflight_gets_the_headers_it_asks_for) {
  auto preflight = request({{"host", "localhost"},
                            {"origin", "https://app.example"},
                            {"access-control-request-headers", "authorization, x-api-key"}});
  preflight.method = "OPTIONS";
  const auto headers = cors_headers(preflight, {"https://app.example"});
  const auto has = [&](const char* name, const char* value) {
    return std::ranges::find(headers, std::pair<std::string, std::string>{name, value}) !=
           headers.end();
  };
  EXPECT_TRUE(has("Access-Control-Allow-Origin", "https://app.example"));
  EXPECT_TRUE(has("Access-Control-Allow-Headers", "authorization, x-api-key"));
  EXPECT_TRUE(has("Vary", "Origin"));
  EXPECT_EQ(cors_headers(preflight, {}).size(), 1u) << "only Vary";
}

TEST(Key, bearer_or_x_api_key_must_match_whole) {
  const auto check = [](Headers headers, const char* key = "secret") {
    return check_key(request(std::move(headers)), key).has_value();
  };
  EXPECT_TRUE(check({{"authorization", "Bearer secret"}}));
  EXPECT_TRUE(check({{"authorization", "bearer secret"}}));
  EXPECT_TRUE(check({{"x-api-key", "secret"}}));
  EXPECT_TRUE(check({{"authorization", "Bearer other"}}, "")) << "no key is asked for";
  EXPECT_FALSE(check({}));
  EXPECT_FALSE(check({{"authorization", "secret"}}));
  EXPECT_FALSE(check({{"authorization", "Bearer secret2"}}));
  EXPECT_FALSE(check({{"x-api-key", "secre"}}));
}

}  // namespace
}  // namespace hearth::server
