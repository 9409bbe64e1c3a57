// The likeliest token that a mask leaves: what greedy rows cost a step beside the forward pass.
#pragma once

#include <span>

#include "engine/token_mask.h"
#include "text/tokenizer.h"

namespace hearth::engine {

/// Index of the largest value that the mask leaves, the lowest one among equals; -1 when none is a
/// number.
text::TokenId argmax(std::span<const float> x, MaskWords mask);

}  // namespace hearth::engine
