#include "services/chat/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "services/chat/fields.h"

namespace hearth::services {
namespace {

constexpr std::size_t most_stop_strings = 64;
constexpr int most_top_logprobs = 20;
constexpr int most_answers = 8;

Result<void> read(const Json& body, const Option<float>& option, SamplingFields& fields) {
  auto value = read_number(body, option.name, option.least, option.most);
  if (!value) return fail(value.error());
  if (*value) fields.*option.field = float(**value);
  return {};
}

Result<void> read(const Json& body, const Option<int>& option, SamplingFields& fields) {
  auto value =
      read_integer(body, option.name, std::int64_t(option.least), std::int64_t(option.most));
  if (!value) return fail(value.error());
  if (*value) fields.*option.field = int(**value);
  return {};
}

Result<std::map<text::TokenId, float>> read_logit_bias(const Json& body) {
  std::map<text::TokenId, float> bias;
  const Json* value = field(body, "logit_bias");
  if (!value) return bias;
  const auto wrong = [] {
    return fail(ErrorCode::invalid_request, "logit_bias must be a dict of int to float",
                "logit_bias");
  };
  if (!value->is_object()) return wrong();
  for (const auto& [key, amount] : value->items()) {
    text::TokenId id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || !amount.is_number()) {
      return wrong();
    }
    if (!std::isfinite(amount.get<float>())) return wrong();
    bias[id] = amount.get<float>();
  }
  return bias;
}

Result<std::optional<std::uint64_t>> read_seed(const Json& body) {
  const Json* value = field(body, "seed");
  if (!value) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  auto seed = read_integer(body, "seed", std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max());
  if (!seed) return fail(wrong_value("seed", *value, "an integer of 64 bits"));
  return std::uint64_t(**seed);
}

}  // namespace

Result<SamplingFields> read_sampling(const Json& body) {
  SamplingFields fields;
  Result<void> read_all;
  std::apply(
      [&](const auto&... option) {
        ((read_all = read(body, option, fields), read_all.has_value()) && ...);
      },
      sampling_options);
  if (!read_all) return fail(read_all.error());
  auto limit = read_integer(body, "max_completion_tokens", 1, std::numeric_limits<int>::max());
  if (!limit) return fail(limit.error());
  if (*limit) fields.max_tokens = std::min(int(**limit), fields.max_tokens.value_or(int(**limit)));
  auto bias = read_logit_bias(body);
  if (!bias) return fail(bias.error());
  fields.logit_bias = std::move(*bias);
  auto seed = read_seed(body);
  if (!seed) return fail(seed.error());
  fields.seed = *seed;
  return fields;
}

Result<std::vector<std::string>> read_stop(const Json& body) {
  constexpr std::string_view expected = "a string or at most 64 strings";
  std::vector<std::string> stops;
  const Json* value = field(body, "stop");
  if (!value) return stops;
  const Json list = value->is_string() ? Json::array({*value}) : *value;
  if (!list.is_array()) return fail(wrong_value("stop", *value, expected));
  if (list.size() > most_stop_strings) {
    return fail(ErrorCode::invalid_request,
                fmt::format("`stop` holds {} strings, expected {}", list.size(), expected), "stop");
  }
  for (const Json& stop : list) {
    if (!stop.is_string()) return fail(wrong_value("stop", *value, expected));
    if (!stop.get_ref<const std::string&>().empty()) stops.push_back(stop);
  }
  return stops;
}

Result<void> read_delivery(const Json& body, Request& request) {
  if (auto model = read_string(body, "model"); !model) return fail(model.error());
  auto stream = read_bool(body, "stream");
  if (!stream) return fail(stream.error());
  request.stream = stream->value_or(false);
  if (const Json* options = field(body, "stream_options")) {
    if (!options->is_object()) {
      return fail(
          wrong_value("stream_options", *options, "an object such as {\"include_usage\":true}"));
    }
    auto usage = read_bool(*options, "include_usage");
    if (!usage) {
      usage.error().param = "stream_options.include_usage";
      return fail(usage.error());
    }
    request.include_usage = *usage;
  }
  auto n = read_integer(body, "n", 1, most_answers);
  if (!n) return fail(n.error());
  request.n = int(n->value_or(1));
  auto tier = read_string(body, "service_tier");
  if (!tier) return fail(tier.error());
  if (*tier) request.service_tier = "default";
  return {};
}

Result<int> read_logprobs(const Json& body) {
  const auto wrong = [](const char* name, std::string_view what) {
    return fail(ErrorCode::invalid_request, fmt::format("{} must be {}", name, what), name);
  };
  const Json* asked = field(body, "logprobs");
  if (asked && !asked->is_boolean()) return wrong("logprobs", "of type bool");
  int top = -1;
  if (const Json* value = field(body, "top_logprobs")) {
    if (!value->is_number_integer()) return wrong("top_logprobs", "of type int");
    const double k = value->get<double>();
    if (k < -1) return wrong("top_logprobs", "at least 0");
    if (k > most_top_logprobs) return wrong("top_logprobs", "at most 20");
    top = int(k);
  }
  if (asked) return asked->get<bool>() ? std::max(top, 0) : -1;
  return top > 0 ? top : -1;
}

Result<void> refuse_unsupported(const Json& body) {
  if (const Json* modalities = field(body, "modalities");
      modalities && *modalities != Json{"text"}) {
    return fail(
        wrong_value("modalities", *modalities, "[\"text\"], the only kind this model makes"));
  }
  if (const Json* adapter = field(body, "adapter"); adapter && *adapter != "none") {
    return fail(wrong_value("adapter", *adapter, "\"none\": no adapter is mounted"));
  }
  return {};
}

}  // namespace hearth::services
