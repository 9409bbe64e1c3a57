#include "engine/embed.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/model.h"

namespace hearth::engine {

namespace mx = mlx::core;
using tensor::Array;

namespace {

constexpr std::size_t forward_tokens = 512;  // of several texts in one forward
constexpr std::size_t turn_tokens = 2048;    // of one turn on the engine thread

using Texts = std::span<const std::vector<TokenId>>;
using Vectors = std::vector<std::vector<float>>;

/// The vector of a text out of its hidden states [1, L, D].
Array pool(const Array& hidden, Pooling pooling) {
  const int length = hidden.shape(1), dims = hidden.shape(2);
  if (pooling == Pooling::mean) {
    return mx::reshape(mx::mean(mx::astype(hidden, mx::float32), 1), {dims});
  }
  const int at = pooling == Pooling::first ? 0 : length - 1;
  const auto one = mx::slice(hidden, {0, at, 0}, {1, at + 1, dims});
  return mx::astype(mx::reshape(one, {dims}), mx::float32);
}

/// Texts side by side in one forward.
Vectors forward(const models::Model& model, Texts texts, Pooling pooling, bool kernels) {
  const auto specs = model.caches();
  std::vector<tensor::SequenceCache> caches;
  std::vector<tensor::SequenceCache*> rows;
  std::vector<tensor::RowSlice> slices;
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    caches.push_back(tensor::make_sequence_cache(specs, kernels));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    rows.push_back(&caches[i]);
    slices.push_back({int(tokens.size()), int(texts[i].size())});
    tokens.insert(tokens.end(), texts[i].begin(), texts[i].end());
  }
  tensor::StepCache step(slices, std::move(rows));
  const int total = int(tokens.size());
  const auto hidden =
      model.normalised(model.forward(Array(tokens.data(), {1, total}, mx::int32), step));
  std::vector<Array> pooled;
  for (const auto& [start, length] : slices) {
    const auto own = mx::slice(hidden, {0, start, 0}, {1, start + length, hidden.shape(2)});
    pooled.push_back(mx::contiguous(pool(own, pooling)));
  }
  mx::eval(pooled);
  Vectors out;
  for (const auto& x : pooled) out.emplace_back(x.data<float>(), x.data<float>() + x.size());
  return out;
}

/// How many of the first texts come to no more than `tokens`; at least one.
std::size_t first_few(Texts texts, std::size_t tokens) {
  std::size_t count = 0, sum = 0;
  while (count < texts.size() && (count == 0 || sum + texts[count].size() <= tokens)) {
    sum += texts[count++].size();
  }
  return count;
}

Result<void> check(Texts texts, const ModelInfo& info) {
  for (const auto& text : texts) {
    if (text.empty()) return fail(ErrorCode::invalid_request, "a text is empty", "input");
    const auto wrong =
        std::ranges::find_if(text, [&](TokenId id) { return id < 0 || id >= info.vocab_size; });
    if (wrong == text.end()) continue;
    return fail(ErrorCode::invalid_request,
                fmt::format("token id {} is outside the vocabulary of {}", *wrong, info.vocab_size),
                "input");
  }
  return {};
}

}  // namespace

Result<Vectors> embed(Engine& engine, Texts texts, Pooling pooling, const std::stop_token& stop) {
  if (auto ok = check(texts, engine.info()); !ok) return fail(ok.error());
  const bool kernels = engine.info().kernels;
  Vectors vectors;
  while (vectors.size() < texts.size()) {
    if (stop.stop_requested()) return fail(ErrorCode::cancelled, "the embedding was cancelled");
    const auto rest = texts.subspan(vectors.size());
    const auto turn = rest.first(first_few(rest, turn_tokens));
    auto done = engine.run_alone([&](const models::Model& model) -> Result<void> {
      for (std::size_t at = 0; at < turn.size();) {
        // On the plain graph a row's numbers depend on its company: every text goes alone.
        const auto some =
            turn.subspan(at, kernels ? first_few(turn.subspan(at), forward_tokens) : 1);
        for (auto& vector : forward(model, some, pooling, kernels)) {
          vectors.push_back(std::move(vector));
        }
        at += some.size();
      }
      return {};
    });
    if (auto ok = done.get(); !ok) return fail(ok.error());
  }
  return vectors;
}

}  // namespace hearth::engine
