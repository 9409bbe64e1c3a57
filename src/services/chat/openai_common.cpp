#include "services/chat/openai_common.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "services/chat/token_bytes.h"

namespace hearth::services {
namespace {

struct OpenAiError {
  ErrorCode code;
  std::string_view type;
  const char* wire_code;  // null: JSON null
};

constexpr OpenAiError openai_errors[] = {
    {ErrorCode::invalid_request, "invalid_request_error", nullptr},
    {ErrorCode::invalid_schema, "invalid_request_error", "invalid_json_schema"},
    {ErrorCode::context_overflow, "invalid_request_error", "context_length_exceeded"},
    {ErrorCode::unauthorized, "authentication_error", "invalid_api_key"},
    {ErrorCode::forbidden, "permission_error", nullptr},
    {ErrorCode::not_found, "not_found_error", "not_found"},
    {ErrorCode::too_large, "request_too_large", nullptr},
    {ErrorCode::overloaded, "server_overloaded", "queue_full"},
    {ErrorCode::unavailable, "server_error", "model_unavailable"},
    {ErrorCode::engine_lost, "server_error", "engine_unavailable"},
    {ErrorCode::cancelled, "request_cancelled", "request_cancelled"},
    {ErrorCode::unsupported, "not_implemented", "unsupported_execution"},
};

OpenAiError openai_error_of(const Error& error) {
  if (error.code == ErrorCode::not_found && error.param == "model") {
    return {error.code, "not_found_error", "model_not_found"};
  }
  if (error.code == ErrorCode::context_overflow && error.param == "--memory-budget") {
    return {error.code, "invalid_request_error", "context_over_budget"};
  }
  for (const auto& row : openai_errors) {
    if (row.code == error.code) return row;
  }
  return {error.code, "server_error", nullptr};
}

Json logprob_entry(const engine::TokenLogprob& token, const text::Tokenizer& tokenizer) {
  const std::string bytes = token_bytes(tokenizer, token.id);
  Json list = Json::array();
  for (const unsigned char byte : bytes) list.push_back(int(byte));
  return {{"id", token.id},
          {"token", token_text(bytes)},
          {"piece", tokenizer.piece(token.id)},
          {"bytes", std::move(list)},
          {"logprob", logprob_value(token.logprob)}};
}

}  // namespace

Json openai_error(const Error& error) {
  const auto row = openai_error_of(error);
  return {{"error",
           {{"message", error.message},
            {"type", row.type},
            {"param", error.param.empty() ? Json() : Json(error.param)},
            {"code", row.wire_code ? Json(row.wire_code) : Json()}}}};
}

Json openai_usage(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
          {"lane", "batched"}};
}

std::string_view openai_finish_reason(engine::FinishReason reason) {
  return reason == engine::FinishReason::length ? "length" : "stop";
}

Json logprob_value(float logprob) { return std::isnan(logprob) ? Json() : Json(logprob); }

Json logprob_entries(const std::vector<TokenInfo>& tokens, const text::Tokenizer& tokenizer) {
  Json entries = Json::array();
  for (const TokenInfo& token : tokens) {
    Json entry = logprob_entry(token.token, tokenizer);
    entry["top_logprobs"] = Json::array();
    for (const auto& rival : token.top) {
      entry["top_logprobs"].push_back(logprob_entry(rival, tokenizer));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string sse_data(const Json& json) { return fmt::format("data: {}\n\n", dump(json)); }

std::string new_uuid() {
  thread_local std::mt19937_64 random{std::random_device{}() * 0x100000001ULL ^
                                      std::random_device{}()};
  const std::uint64_t a = random(), b = random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | ((b >> 48) & 0x3fff), b & 0xffffffffffff);
}

}  // namespace hearth::services
