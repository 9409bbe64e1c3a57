#include "text/dialect/reasoning.h"

#include <algorithm>

namespace hearth::text {
namespace {

bool holds(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

const std::vector<Reasoning>& all_reasoning() {
  static const std::vector<Reasoning> all = {
      {.name = "harmony", .open = Harmony::channel, .close = Harmony::end, .channels = true},
      {.name = "gemma", .open = "<|channel>", .close = "<channel|>", .named = true},
      {.name = "mistral", .open = "[THINK]", .close = "[/THINK]"},
      {.name = "think", .open = "<think>", .close = "</think>"},
      {.name = "kimi", .open = "◁think▷", .close = "◁/think▷"},
      {.name = "seed", .open = "<seed:think>", .close = "</seed:think>"},
      {.name = "cohere", .open = "<|START_THINKING|>", .close = "<|END_THINKING|>"},
  };
  return all;
}

const Reasoning* find_reasoning(std::string_view chat_template, const Tokenizer& tokenizer) {
  for (const Reasoning& r : all_reasoning()) {
    if (r.channels
            ? holds(chat_template, Harmony::channel) && holds(chat_template, Harmony::message)
            : holds(chat_template, r.open) || holds(chat_template, r.close)) {
      return &r;
    }
  }
  for (const Reasoning& r : all_reasoning()) {
    if (!r.channels && tokenizer.id_of(r.open) && tokenizer.id_of(r.close)) return &r;
  }
  return nullptr;
}

bool starts_in_reasoning(const Reasoning& reasoning, std::string_view tail) {
  if (reasoning.channels) return false;  // the answer's own header tells
  const auto open = tail.rfind(reasoning.open);
  return open != tail.npos && tail.find(reasoning.close, open) == tail.npos;
}

}  // namespace hearth::text
