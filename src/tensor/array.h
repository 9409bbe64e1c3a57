// Array is MLX's counted handle; a few shape helpers that read as the papers do.
#pragma once

#include <string>

#include "mlx/array.h"
#include "mlx/fast.h"
#include "mlx/ops.h"
#include "mlx/transforms.h"

namespace hearth::tensor {

namespace mx = mlx::core;
using Array = mx::array;
using Shape = mx::Shape;

/// "[4096, 512]"
std::string to_string(const Shape& shape);
/// "bfloat16", "uint32"
std::string to_string(mx::Dtype dtype);

/// [B, L, H·Dh] -> [B, L, H, Dh]
Array split_heads(const Array& x, int heads);
/// [B, L, H, Dh] -> [B, H, L, Dh]
Array heads_first(const Array& x);
/// [B, H, L, Dh] -> [B, L, H·Dh]
Array merge_heads(const Array& x);

}  // namespace hearth::tensor
