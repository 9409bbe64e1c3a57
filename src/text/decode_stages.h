// The decoders of tokenizer.json, one class each (Source: the crate `tokenizers`, decoders/).
#pragma once

#include <memory>

#include "base/json.h"
#include "text/decoding.h"

namespace hearth::text {

/// The stage of one decoder, or null where it cannot work on a stream. `fused`: the pieces before
/// it are parts of one string.
std::unique_ptr<DecodeStage> make_decode_stage(const Json& decoder, bool fused);

/// Pieces with a space between: what the library does where there is no decoder.
std::unique_ptr<DecodeStage> make_space_joined_stage();

}  // namespace hearth::text
