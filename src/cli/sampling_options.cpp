#include "cli/sampling_options.h"

#include <charconv>
#include <cmath>

namespace hearth::cli {
namespace {

constexpr int most_tokens = 10'000'000;

/// --max-tokens takes fractions and drops them, as the server's field does.
Option max_tokens(std::optional<int>* field) {
  Option option = real("--max-tokens", "N", static_cast<std::optional<float>*>(nullptr), 1,
                       most_tokens, "most tokens of an answer");
  option.set = [field](std::string_view text) -> Result<void> {
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last || !(value >= 1 && value <= most_tokens)) {
      return fail(ErrorCode::usage, "a number from 1 to 10000000");
    }
    *field = static_cast<int>(std::floor(value));
    return {};
  };
  return option;
}

Option seed(std::optional<std::uint64_t>* field) {
  std::optional<int>* const none = nullptr;
  Option option = whole("--seed", "N", none, 0, 0, "makes sampling repeatable");
  option.set = [field](std::string_view text) -> Result<void> {
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last) {
      return fail(ErrorCode::usage, "a whole number from 0 to 18446744073709551615");
    }
    *field = value;
    return {};
  };
  return option;
}

}  // namespace

void declare_sampling(OptionTable& table, SamplingOptions& options, const SamplingWords& words) {
  table
      .add(real("--temperature,--temp", "T", &options.temperature, 0, 5,
                "0 picks the likeliest token; higher is freer"))
      .fallback = words.temperature;
  table.add(real("--top-p", "P", &options.top_p, 0, 1, "keep the likeliest tokens that sum to P")
                .with_default(words.cutoff));
  table
      .add(whole("--top-k", "K", &options.top_k, 0, 1'000'000, "keep the K likeliest; 0 keeps all"))
      .fallback = words.cutoff;
  table.add(max_tokens(&options.max_tokens).with_default(words.max_tokens));
}

void declare_request_sampling(OptionTable& table, SamplingOptions& options) {
  table
      .add(real("--min-p", "P", &options.min_p, 0, 1,
                "keep tokens at least P times as likely as the likeliest"))
      .fallback = "off";
  table.add(seed(&options.seed).with_default("a fresh one each time"));
}

services::SamplingFields fields(const SamplingOptions& options) {
  services::SamplingFields out;
  out.temperature = options.temperature;
  out.top_p = options.top_p;
  out.top_k = options.top_k;
  out.min_p = options.min_p;
  out.seed = options.seed;
  out.max_tokens = options.max_tokens;
  return out;
}

}  // namespace hearth::cli
