// From a row's logits, as the device leaves them, to tokens and scores of tokens.
#pragma once

#include "engine/engine.h"
#include "engine/sequence.h"
#include "tensor/array.h"

namespace hearth::engine {

/// The row's next token.
/// @param logits  [V] in the model's dtype; may be changed
/// @param mask    what it leaves is drawn from
/// @return        id -1 when no entry is a number
Sampled sample_next(const Sequence& row, const tensor::Array& logits, MaskWords mask, Tier tier);

/// Adds what `logits` say of the prompt's tokens to the row's scores, and tells them once all are
/// there.
/// @param from  position of the token that the first of `logits` follows
void score_prompt(Sequence& row, std::span<const tensor::Array> logits, int from, Tier tier);

}  // namespace hearth::engine
