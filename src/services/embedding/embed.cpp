#include "services/embedding/embed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace hearth::services {
namespace {

using Ids = std::vector<text::TokenId>;

constexpr int least_dimensions = 32;

tl::unexpected<Error> refuse(std::string words, const char* field) {
  return fail(ErrorCode::invalid_request, std::move(words), field);
}

/// What goes before every text.
Result<std::string> prefix_of(const EmbeddingConfig& config, const EmbeddingRequest& request) {
  if (request.instruction && request.prompt_name) {
    return refuse("`instruction` and `prompt_name` exclude each other", "instruction");
  }
  if (request.instruction) return fmt::format("Instruct: {}\nQuery:", *request.instruction);
  const auto& name = request.prompt_name ? *request.prompt_name : config.default_prompt;
  if (name.empty()) return std::string();
  const auto found = config.prompts.find(name);
  if (found != config.prompts.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [own, text] : config.prompts) known.push_back(own);
  return refuse(fmt::format("the model has no prompt \"{}\"; it has: {}", name,
                            known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))),
                "prompt_name");
}

/// The ids with the token that must end them.
void end_with(Ids& ids, const LoadedModel& model) {
  const auto& end = model.embedding->end_token;
  const auto id = end.empty() ? std::nullopt : model.tokenizer->id_of(end);
  if (id && (ids.empty() || ids.back() != *id)) ids.push_back(*id);
}

Result<Ids> ids_of(const EmbeddingInput& input, const std::string& prefix,
                   const LoadedModel& model) {
  if (const auto* given = std::get_if<Ids>(&input)) {
    if (given->empty()) return refuse("an input is empty, expected at least one token", "input");
    return *given;
  }
  const auto& words = std::get<std::string>(input);
  if (words.empty()) return refuse("an input is empty, expected text", "input");
  auto ids = model.tokenizer->encode(prefix + words, {.add_special = true, .parse_markers = false});
  if (!ids) return fail(ids.error());
  end_with(*ids, model);
  return ids;
}

/// Holds ids to what the model takes.
Result<void> limit(Ids& ids, std::size_t index, const LoadedModel& model, bool truncate) {
  const auto most = std::size_t(model.embedding->max_tokens);
  if (most == 0 || ids.size() <= most) return {};
  if (!truncate) {
    return refuse(fmt::format("input {} is too long: {} tokens > {} that the model takes; send "
                              "less, or `truncate`: true to lose its end",
                              index, ids.size(), most),
                  "input");
  }
  const auto last = ids.back();
  ids.resize(most);
  if (model.tokenizer->is_special(last)) ids.back() = last;
  return {};
}

void normalise(std::vector<float>& x) {
  double squares = 0;
  for (const float value : x) squares += double(value) * value;
  const double length = std::max(std::sqrt(squares), 1e-12);
  for (float& value : x) value = static_cast<float>(value / length);
}

/// A pooled vector through what comes behind the pooling.
Result<std::vector<float>> finish(std::vector<float> x, const EmbeddingConfig& config,
                                  const std::optional<int>& dimensions) {
  for (const auto& dense : config.dense) {
    if (int(x.size()) != dense.inputs()) {
      return fail(
          ErrorCode::corrupt_file,
          fmt::format("a dense layer takes {} numbers, but gets {}", dense.inputs(), x.size()));
    }
    x = dense(x);
  }
  if (config.normalise) normalise(x);
  if (!dimensions || *dimensions == int(x.size())) return x;
  if (!config.shortens) {
    return refuse(fmt::format("`dimensions` is {}, but this model's vectors have {} numbers and "
                              "none can be left out",
                              *dimensions, x.size()),
                  "dimensions");
  }
  if (*dimensions < least_dimensions || *dimensions > int(x.size())) {
    return refuse(fmt::format("`dimensions` is {}, expected {} to {}", *dimensions,
                              least_dimensions, x.size()),
                  "dimensions");
  }
  x.resize(*dimensions);
  normalise(x);
  return x;
}

}  // namespace

Result<Embeddings> embed(const LoadedModel& model, const EmbeddingRequest& request,
                         const std::stop_token& stop) {
  if (!model.embedding || !model.engine) {
    return refuse(fmt::format("{} is a chat model and makes no embeddings; serve an embedding "
                              "model",
                              model.id),
                  "model");
  }
  if (request.inputs.empty() || request.inputs.size() > EmbeddingRequest::most_inputs) {
    return refuse(fmt::format("there are {} inputs, expected 1 to {}", request.inputs.size(),
                              EmbeddingRequest::most_inputs),
                  "input");
  }
  const auto prefix = prefix_of(*model.embedding, request);
  if (!prefix) return fail(prefix.error());
  Embeddings out;
  std::vector<Ids> texts;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    auto ids = ids_of(request.inputs[i], *prefix, model);
    if (!ids) return fail(ids.error());
    if (auto ok = limit(*ids, i, model, request.truncate); !ok) return fail(ok.error());
    out.tokens += int(ids->size());
    texts.push_back(std::move(*ids));
  }
  auto pooled = engine::embed(*model.engine, texts, model.embedding->pooling, stop);
  if (!pooled) return fail(pooled.error());
  for (auto& vector : *pooled) {
    auto finished = finish(std::move(vector), *model.embedding, request.dimensions);
    if (!finished) return fail(finished.error());
    out.vectors.push_back(std::move(*finished));
  }
  return out;
}

}  // namespace hearth::services
