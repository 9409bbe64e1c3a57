// POST /v1/completions: raw text, no template.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "services/chat/constraint_fields.h"
#include "services/chat/fields.h"
#include "services/chat/openai_encoder.h"
#include "services/chat/options.h"
#include "services/chat/token_bytes.h"

namespace hearth::services {
namespace {

constexpr int most_choices = 64;  // rows of one request: what the engine's queue takes

Result<Input> token_prompt(const Json& list, std::string_view where) {
  constexpr auto most = std::numeric_limits<text::TokenId>::max();
  std::vector<text::TokenId> ids;
  ids.reserve(list.size());
  for (const Json& id : list) {
    if (!id.is_number_integer() || id.get<double>() < 0 || id.get<double>() > most) {
      return fail(wrong_value(where, id, "token ids, integers of at least 0"));
    }
    ids.push_back(id.get<text::TokenId>());
  }
  return ids;
}

/// `prompt`: a string, strings, token ids or lists of them.
Result<std::vector<Input>> prompts_of(const Json& body) {
  constexpr std::string_view expected =
      "a string that is not empty, a list of such strings, of token ids, or of lists of token ids";
  const Json* prompt = field(body, "prompt");
  const auto wrong = [&] {
    return fail(wrong_value("prompt", prompt ? *prompt : Json(), expected));
  };
  if (!prompt || prompt->empty()) return wrong();
  if (prompt->is_string()) {
    if (prompt->get_ref<const std::string&>().empty()) return wrong();
    return std::vector<Input>{prompt->get<std::string>()};
  }
  if (!prompt->is_array()) return wrong();
  if ((*prompt)[0].is_number()) {
    auto ids = token_prompt(*prompt, "prompt");
    if (!ids) return fail(ids.error());
    return std::vector<Input>{std::move(*ids)};
  }
  std::vector<Input> prompts;
  for (std::size_t i = 0; i < prompt->size(); ++i) {
    const Json& one = (*prompt)[i];
    if (one.is_string() && !one.get_ref<const std::string&>().empty()) {
      prompts.emplace_back(one.get<std::string>());
    } else if (one.is_array() && !one.empty()) {
      auto ids = token_prompt(one, fmt::format("prompt[{}]", i));
      if (!ids) return fail(ids.error());
      prompts.push_back(std::move(*ids));
    } else {
      return fail(wrong_value(fmt::format("prompt[{}]", i), one, expected));
    }
  }
  return prompts;
}

/// `logprobs`: a bool as chat has it, or a number for the older block.
Result<void> read_completion_logprobs(const Json& body, Request& request) {
  const Json* asked = field(body, "logprobs");
  if (asked && asked->is_number()) {
    auto k = read_integer(body, "logprobs", 0, 20);
    if (!k) return fail(k.error());
    request.top_logprobs = int(**k);
    request.logprobs_shape = LogprobsShape::legacy;
    return {};
  }
  auto k = read_logprobs(body);
  if (!k) return fail(k.error());
  request.top_logprobs = *k;
  return {};
}

Result<void> read_extras(const Json& body, Request& request) {
  if (const Json* suffix = field(body, "suffix"); suffix && *suffix != "") {
    return fail(wrong_value("suffix", *suffix, "none: this model cannot fill in the middle"));
  }
  auto best_of = read_integer(body, "best_of", 1, 8);
  if (!best_of) return fail(best_of.error());
  if (*best_of && **best_of != request.n) {
    return fail(ErrorCode::invalid_request,
                fmt::format("`best_of` is {}, expected {}, the same as `n`", **best_of, request.n),
                "best_of");
  }
  auto echo = read_bool(body, "echo");
  if (!echo) return fail(echo.error());
  request.echo = echo->value_or(false);
  return {};
}

Result<Request> parse(const Json& body, std::string_view) {
  Request request;
  auto prompts = prompts_of(body);
  if (!prompts) return fail(prompts.error());
  request.input = std::move(prompts->front());
  request.more_inputs.assign(std::make_move_iterator(prompts->begin() + 1),
                             std::make_move_iterator(prompts->end()));
  auto sampling = read_sampling(body);
  if (!sampling) return fail(sampling.error());
  request.sampling = std::move(*sampling);
  auto stop = read_stop(body);
  if (!stop) return fail(stop.error());
  request.stop = std::move(*stop);
  if (auto read = read_delivery(body, request); !read) return fail(read.error());
  if (auto read = read_completion_logprobs(body, request); !read) return fail(read.error());
  if (auto read = read_extras(body, request); !read) return fail(read.error());
  auto constraint = read_constraint(body);
  if (!constraint) return fail(constraint.error());
  request.constraint = std::move(*constraint);
  if (auto taken = refuse_unsupported(body); !taken) return fail(taken.error());
  if (request.choices() > most_choices) {
    return fail(ErrorCode::invalid_request,
                fmt::format("`prompt` and `n` ask for {} answers, at most {} fit one request",
                            request.choices(), most_choices),
                "prompt");
  }
  return request;
}

bool begins_character(char byte) { return (byte & 0xc0) != 0x80; }

class CompletionEncoder : public OpenAiEncoder {
 public:
  CompletionEncoder(const Request& request, ReplyInfo info)
      : OpenAiEncoder(request, std::move(info), {"cmpl-", "text_completion", "text_completion"}),
        shape_(request.logprobs_shape), rivals_(request.top_logprobs) {}

 private:
  Json opening(const Choice& choice) const override {
    return choice.text.empty() ? Json() : step(choice.text, nullptr);  // the echo
  }
  Json more(Choice& choice, const TextDelta& delta) const override {
    return step(delta.text, logprobs(delta.tokens, choice.tokens_text));
  }
  Json closing() const override { return step("", nullptr); }
  Json whole(const Choice& choice) const override {
    std::size_t offset = 0;
    return {{"text", choice.text}, {"logprobs", logprobs(choice.tokens, offset)}};
  }

  static Json step(const std::string& text, Json logprobs) {
    return {{"text", text}, {"logprobs", std::move(logprobs)}, {"finish_reason", nullptr}};
  }

  /// @param offset  characters of the tokens told before these; moved on
  Json logprobs(const std::vector<TokenInfo>& tokens, std::size_t& offset) const {
    if (!wants_logprobs()) return nullptr;
    if (shape_ == LogprobsShape::entries) {
      return {{"content", logprob_entries(tokens, tokenizer())}};
    }
    Json names = Json::array(), values = Json::array(), tops = Json::array(),
         offsets = Json::array();
    for (const TokenInfo& token : tokens) {
      const std::string bytes = token_bytes(tokenizer(), token.token.id);
      names.push_back(token_text(bytes));
      values.push_back(logprob_value(token.token.logprob));
      offsets.push_back(offset);
      offset += std::ranges::count_if(bytes, begins_character);
      Json top = Json::object();
      for (const auto& rival : token.top) {
        top[token_text(token_bytes(tokenizer(), rival.id))] = rival.logprob;
      }
      tops.push_back(std::isnan(token.token.logprob) ? Json() : std::move(top));
    }
    return {{"tokens", std::move(names)},
            {"token_logprobs", std::move(values)},
            {"top_logprobs", rivals_ > 0 ? std::move(tops) : Json()},
            {"text_offset", std::move(offsets)}};
  }

  const LogprobsShape shape_;
  const int rivals_;
};

std::unique_ptr<Encoder> make_encoder(const Request& request, ReplyInfo info) {
  return std::make_unique<CompletionEncoder>(request, std::move(info));
}

}  // namespace

const Protocol openai_completions{
    .path = "/v1/completions", .parse = parse, .encoder = make_encoder, .error = openai_error};

}  // namespace hearth::services
