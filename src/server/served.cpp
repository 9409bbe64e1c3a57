#include "server/served.h"

#include <fmt/format.h>

#include <utility>

namespace hearth::server {
namespace {

/// Eight hex digits over what decides an answer: version, model and backend. FNV-1a.
std::string fingerprint_of(const services::LoadedModel& model) {
  const auto backend = model.engine ? engine::backend() : engine::Backend{};
  const std::string text =
      fmt::format("{}|{}|{}|{}|{}|{}|{}", HEARTH_VERSION, model.id, model.info.quantization,
                  model.info.weight_bytes, backend.mlx_version, backend.pack, backend.simd);
  std::uint32_t hash = 2166136261u;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 16777619u;
  return fmt::format("fp_{:08x}", hash);
}

Json gen_defaults(const services::GenerationDefaults& own) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  if (!own.temperature && !own.top_p && !own.top_k) return nullptr;
  return {{"temperature", or_null(own.temperature)},
          {"top_p", or_null(own.top_p)},
          {"top_k", or_null(own.top_k)}};
}

/// What every row begins with, without the times, which are the server's.
Json row_head(const std::string& name, int context_length) {
  return {{"id", name},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "hearth"},
          {"type", "model"},
          {"display_name", name},
          {"created_at", ""},
          {"context_window", context_length},
          {"max_input_tokens", context_length}};
}

Json row_of(const Served& served) {
  const auto& model = *served.model;
  const bool chats = model.chat_template != nullptr;
  const bool tools = chats && model.chat_template->supports_tools();
  const bool structured = served.defaults.grammars;
  const bool embeds = model.embedding != nullptr;
  Json row = row_head(served.name, model.info.context_length);
  row.update({{"reasoning", chats && model.chat_template->supports_thinking()},
              {"vision", false},
              {"audio", false},
              {"batch_mode", served.batch_mode()},
              {"tools", tools},
              {"structured_output", structured},
              {"embeddings", embeds},
              {"adapters", false},
              {"training", false},
              {"capabilities",
               {{"chat_completions", chats},
                {"text_completions", !model.info.encoder},
                {"anthropic_messages", chats},
                {"responses", chats},
                {"streaming", true},
                {"tools", tools},
                {"structured_output", structured},
                {"logprobs", true},
                {"embeddings", embeds},
                {"vision", false},
                {"audio", false},
                {"adapters", false},
                {"training", false}}},
              {"gen_defaults", gen_defaults(model.defaults)}});
  return row;
}

}  // namespace

std::string_view Served::batch_mode() const {
  return model && model->stats && model->stats().max_rows == 1 ? "off" : "batch";
}

ServedPtr serve_here(std::shared_ptr<services::LoadedModel> model,
                     const services::CatalogModel& entry) {
  auto served = std::make_shared<Served>();
  served->name = entry.id;
  served->fingerprint = fingerprint_of(*model);
  served->bytes = model->info.weight_bytes;
  served->defaults = entry.defaults;
  served->model = std::move(model);
  served->row = row_of(*served);
  return served;
}

Json absent_row(const services::CatalogModel& entry) {
  Json row = row_head(entry.id, entry.info.context_length);
  row.update({{"vision", entry.vision}, {"tier", "generic"}});
  return row;
}

}  // namespace hearth::server
