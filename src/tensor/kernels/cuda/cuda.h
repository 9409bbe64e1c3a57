// The fast path on NVIDIA: the functions of kernels.h on a CUDA device, with activations in float32
// between the nodes and bfloat16 inside the products. Batch-invariant like those on the CPU: the
// order of each sum depends on the shape of one row's work only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "tensor/kernels/kernels.h"

namespace hearth::kernels::cuda {

/// Whether kernels.h runs here: the default device is a GPU and launch.h has what it takes.
bool active();

/// Whether the kernels take heads this wide.
bool takes_heads(int head_dim);
/// Whether they take matrices of so many inputs.
bool takes_inputs(int inputs);

/// As PackedLinear::affine and ::dense. Widths of 2 and 3 bits are stored in 4, of 5 and 6 in 8;
/// scales that are not bfloat16 are stored as float16, float weights as bfloat16.
std::shared_ptr<const PackedLinear> pack_affine(const Array& weight, const Array& scales,
                                                const Array& biases, int group_size, int bits,
                                                const std::optional<Array>& bias);
std::shared_ptr<const PackedLinear> pack_dense(const Array& weight,
                                               const std::optional<Array>& bias);

/// Whether weights were packed for this path.
bool packed(const PackedLinear& weights);

// As the functions of these names in kernels.h, which call them where active().
Array linear(const Array& x, std::span<const std::shared_ptr<const PackedLinear>> weights,
             const std::optional<Array>& residual = {});
Array rms_norm(const Array& x, const std::optional<Array>& weight, float eps);
std::pair<Array, Array> add_rms_norm(const Array& x, const Array& y, const Array& weight,
                                     float eps);
/// `up` none: the gate and up sit side by side in `gate`.
Array gated(const Array& gate, const std::optional<Array>& up, Activation activation);

/// Keys and values of one layer of one sequence, f16 [1, Hk, capacity, Dh] on the device, finite
/// beyond `offset` too; capacity a multiple of 64.
struct DeviceKv {
  Array keys, values;
  int offset = 0;  // tokens written
  // Smaller ones, or empty ones, that the tokens so far are in: attend() moves them first.
  std::optional<std::pair<Array, Array>> grown_from;
};

/// As `kv` with room for `length` more tokens.
/// @param kv  none: of a sequence without tokens
DeviceKv with_room(const std::optional<DeviceKv>& kv, int length, int kv_heads, int head_dim);

/// attend() over contiguous keys and values. The node writes its slices' tokens behind the rows'
/// offsets, which move on when it is built: steps over the same rows are evaluated in the order of
/// building.
/// @param qkv   [..., (H + 2·Hk)·Dh] f32
/// @param rows  with room for their slices
/// @param window  0: all
Array attend(const Array& qkv, std::span<DeviceKv* const> rows, std::span<const RowSlice> slices,
             const AttendOptions& options, int window);

}  // namespace hearth::kernels::cuda
