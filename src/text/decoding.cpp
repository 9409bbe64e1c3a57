#include "text/decoding.h"

#include <algorithm>

#include "text/decode_stages.h"

namespace hearth::text {

std::string type_of(const Json& part) {
  return part.is_object() && part.contains("type") && part["type"].is_string()
             ? part["type"].get<std::string>()
             : std::string();
}

namespace {

/// A part and, where it is a sequence, the parts in it (`key`), flattened.
void flatten(const Json& part, const char* key, Json& out) {
  if (type_of(part) != "Sequence") {
    if (part.is_object()) out.push_back(part);
    return;
  }
  if (!part.contains(key)) return;
  for (const Json& inner : part[key]) flatten(inner, key, out);
}

bool has_type(const Json& parts, std::string_view type) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Json& part) { return type_of(part) == type; });
}

/// The text is spelled in byte letters before the model sees it.
bool byte_level_vocabulary(const Json& parts) {
  Json before = Json::array();
  flatten(parts.value("pre_tokenizer", Json()), "pretokenizers", before);
  flatten(parts.value("normalizer", Json()), "normalizers", before);
  return has_type(before, "ByteLevel");
}

}  // namespace

DecodeChain::DecodeChain(std::vector<std::unique_ptr<DecodeStage>> stages)
    : stages_(std::move(stages)) {}

void DecodeChain::feed(std::size_t stage, std::string piece, std::string& out) {
  if (stage == stages_.size()) {
    out += piece;
    return;
  }
  stages_[stage]->push(std::move(piece),
                       [&](std::string made) { feed(stage + 1, std::move(made), out); });
}

std::string DecodeChain::push(std::string_view piece) {
  std::string out;
  feed(0, std::string(piece), out);
  return out;
}

std::string DecodeChain::finish() {
  std::string out;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    stages_[i]->finish([&](std::string made) { feed(i + 1, std::move(made), out); });
  }
  return out;
}

std::unique_ptr<DecodeChain> DecodePlan::chain() const {
  std::vector<std::unique_ptr<DecodeStage>> stages;
  bool fused = false;
  for (const Json& decoder : decoders) {
    auto stage = make_decode_stage(decoder, fused);
    if (!stage) return nullptr;
    stages.push_back(std::move(stage));
    fused |= type_of(decoder) == "Fuse" || type_of(decoder) == "ByteLevel";
  }
  if (stages.empty()) stages.push_back(make_space_joined_stage());
  return std::make_unique<DecodeChain>(std::move(stages));
}

DecodePlan plan_decoding(const Json& parts) {
  DecodePlan plan;
  flatten(parts.value("decoder", Json()), "decoders", plan.decoders);
  const bool decodes_bytes = has_type(plan.decoders, "ByteLevel");
  if (byte_level_vocabulary(parts) && !decodes_bytes) {
    plan.decoders = Json::array({Json{{"type", "ByteLevel"}}});
  }
  if (decodes_bytes || byte_level_vocabulary(parts)) {
    plan.spelling = Spelling::byte_level;
  } else if (has_type(plan.decoders, "ByteFallback")) {
    plan.spelling = Spelling::byte_fallback;
  }
  plan.local = plan.chain() != nullptr;
  return plan;
}

}  // namespace hearth::text
