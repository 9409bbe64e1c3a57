// config.json out of a GGUF's metadata, with the keys that mlx-lm's model files read.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "tensor/gguf_file.h"
#include "tensor/gguf_names.h"

namespace hearth::tensor {

/// Everything but "quantization". Numbers stored as float32 come out as their shortest decimals:
/// 1e-06, not 9.99999997e-07.
/// `rope_freqs.weight`, the frequency divisors of Llama 3, becomes rope_scaling "llama3" if its
/// values are those of that rule. Errors: corrupt_file naming the key that is missing or mistyped;
/// unsupported for a rope scaling or a partial rotation that the families do not have. Messages are
/// without the file's name.
Result<Json> gguf_config(GgufArch arch, const GgufFile& file);

}  // namespace hearth::tensor
