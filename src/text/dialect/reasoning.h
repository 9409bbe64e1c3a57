// How models mark their reasoning, as data.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace hearth::text {

struct Reasoning {
  std::string_view name;
  std::string_view open, close;
  bool named = false;     // the channel's name stands on the first line: Gemma 4
  bool channels = false;  // every text has a header that names its channel: gpt-oss
};

/// gpt-oss: what surrounds the header of a message.
struct Harmony {
  static constexpr std::string_view start = "<|start|>", channel = "<|channel|>",
                                    message = "<|message|>", end = "<|end|>", call = "<|call|>",
                                    result = "<|return|>", constrain = "<|constrain|>";
  static constexpr std::string_view reasoning_header = "<|channel|>analysis<|message|>",
                                    text_header = "<|channel|>final<|message|>",
                                    turn = "<|start|>assistant";
  static constexpr std::string_view markers[] = {start, channel, message,  end,
                                                 call,  result,  constrain};
};

const std::vector<Reasoning>& all_reasoning();

/// How the model reasons: by its chat template's own text, else by the markers that its vocabulary
/// has. Null when it shows neither.
const Reasoning* find_reasoning(std::string_view chat_template, const Tokenizer& tokenizer);

/// Whether the answer to a prompt starts inside the reasoning channel: the prompt ends in an
/// opening, or in a turn that opened one and did not close it.
/// @param tail  the end of the prompt's text, from the last turn's start; markers included
bool starts_in_reasoning(const Reasoning& reasoning, std::string_view tail);

}  // namespace hearth::text
