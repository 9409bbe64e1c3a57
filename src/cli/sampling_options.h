// The flags that choose tokens: shared by generate, chat and serve.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/option.h"
#include "services/chat/request.h"

namespace hearth::cli {

struct SamplingOptions {
  std::optional<float> temperature, top_p, min_p;
  std::optional<int> top_k, max_tokens;
  std::optional<std::uint64_t> seed;
};

/// What stands in for flags that are not given, in words for --help.
struct SamplingWords {
  std::string temperature = "the model's own, else 0.7";
  std::string cutoff = "the model's own, else off";  // top-p, top-k
  std::string max_tokens = "to the end of the answer or of the context";
};

/// --temperature, --top-p, --top-k, --max-tokens.
void declare_sampling(OptionTable& table, SamplingOptions& options, const SamplingWords& words);
/// --min-p and --seed, which belong to one request.
void declare_request_sampling(OptionTable& table, SamplingOptions& options);

services::SamplingFields fields(const SamplingOptions& options);

}  // namespace hearth::cli
