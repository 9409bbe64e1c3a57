// The fast path: what the plain MLX graph computes, in f32, batch-invariant.
//
// Every function builds one MLX graph node (a Primitive) that runs on the CPU stream with our own
// thread pool, or on an NVIDIA device where that is the default (cuda/). Activations are float32. A
// row's result never depends on how many rows there are: the order of every reduction is fixed by
// the shape of one row's work. Each has a plain twin in kernels_test.cpp that bounds the
// difference.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mlx/mlx.h"

namespace hearth::kernels {

using Array = mlx::core::array;

/// Weights of a linear layer, repacked once at load for the kernels. Made on the engine thread.
/// Quantised weights meet activations rounded to 16 bits, each row in groups as wide as the
/// weights' (6e-5 rms error); float weights meet them as they are. All sums are f32.
class PackedLinear : public std::enable_shared_from_this<PackedLinear> {
 public:
  /// @param weight  [N, K·bits/32] uint32 words, MLX affine layout
  /// @param scales  [N, K/group_size] f32, f16 or bf16; biases alike
  /// @param bias    [N], added to the product; any float
  /// @throws std::invalid_argument where takes_affine() says no, or a shape does not fit
  static std::shared_ptr<const PackedLinear> affine(const Array& weight, const Array& scales,
                                                    const Array& biases, int group_size, int bits,
                                                    const std::optional<Array>& bias = {});
  /// @param weight  [N, K] f32, f16 or bf16
  static std::shared_ptr<const PackedLinear> dense(const Array& weight,
                                                   const std::optional<Array>& bias = {});
  /// Whether affine() takes this shape; others stay on the plain graph.
  static bool takes_affine(int n, int k, int group_size, int bits);

  virtual ~PackedLinear() = default;
  virtual int outputs() const = 0;  // N
  virtual int inputs() const = 0;   // K
  /// Row ids of an embedding table: [...] int32 -> [..., K] f32, dequantised. Evaluating it throws
  /// std::runtime_error where an id is not in [0, N).
  virtual Array rows(const Array& ids) const = 0;
  virtual std::size_t bytes() const = 0;
};

/// x [..., K] f32 -> [..., N] f32
Array linear(const Array& x, std::shared_ptr<const PackedLinear> weights);

/// Several layers over the same x in one node (q, k, v; gate, up): the outputs side by side
/// [..., N1 + N2 + ...]. Equal bit for bit to separate calls.
Array linear(const Array& x, std::span<const std::shared_ptr<const PackedLinear>> weights);

/// residual + linear(x, weights); residual [..., N] f32
Array linear_plus(const Array& residual, const Array& x,
                  const std::shared_ptr<const PackedLinear>& weights);

/// The same layer of every expert.
using PackedExperts = std::vector<std::shared_ptr<const PackedLinear>>;

/// The layers of the experts that each token chose.
/// @param x       [T, 1, K] f32, one for all choices of a token, or [T, k, K]
/// @param chosen  [T, k] int: experts in [0, E)
/// @return        [T, k, N]
Array expert_linear(const Array& x, const Array& chosen, const PackedExperts& experts);

/// x [..., D] f32, weight [D] f32 or none -> [..., D]; x / sqrt(mean(x²) + eps) · weight
Array rms_norm(const Array& x, const std::optional<Array>& weight, float eps);

/// x + y, then rms_norm of the sum: {sum, normalised}
std::pair<Array, Array> add_rms_norm(const Array& x, const Array& y, const Array& weight,
                                     float eps);

/// gate, up [..., D] f32 -> silu(gate) · up, or gelu_tanh(gate) · up
enum class Activation { silu, gelu_tanh };
Array gated(const Array& gate, const Array& up, Activation activation);
/// The same over one array [..., 2D] with the gate first, as linear() of {gate, up} leaves it.
Array gated(const Array& gate_up, Activation activation);

struct Page;

/// Keys and values of one layer of one sequence: pages of 64 tokens in our own memory, as f16, so
/// that a stored number is off by at most 2^-11 of itself (beyond ±65504 it becomes ±65504).
/// Used on the engine thread. Nodes of the graph keep the pages they read and write alive: a
/// PagedKv may go, be truncated or cloned before they have run.
class PagedKv {
 public:
  /// @param window  0 for full attention; else only the last `window` tokens are seen, and pages
  ///                behind it are given back
  PagedKv(int kv_heads, int head_dim, int window);
  ~PagedKv();
  int offset() const;  // tokens appended since the start of the sequence, written yet or not
  /// Forgets the tokens from `offset` on. With a window, at least 64 tokens can be taken back.
  /// @throws std::invalid_argument if `offset` is ahead, or a page it would see is gone
  void truncate(int offset);
  /// Remembers the present state, all of which must have been evaluated, until the next mark().
  void mark();
  /// Back to mark(), whatever was appended since, evaluated or not.
  /// @return false, with nothing changed, when there was none
  bool roll_back();
  std::size_t bytes() const;  // of its pages, those shared with a clone included
  /// The same tokens; pages are shared until one of the two writes into them.
  std::shared_ptr<PagedKv> clone() const;

  /// The tokens from 64 · number on, once they are written; from now on shared: what goes back
  /// behind them and writes again gets a copy.
  /// @return null where the page is not full, or given back
  std::shared_ptr<Page> page(int number) const;
  /// Makes an empty one that of a sequence of `offset` tokens, of which `pages` are the last.
  /// @return false, with nothing changed, where it is not empty, `offset` is within a page, or
  ///         what the window sees there is missing
  bool start(std::vector<std::shared_ptr<Page>> pages, int offset);

 private:
  friend struct AttentionAccess;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Rotary embedding inside attend(): half-split layout, as mx.fast.rope(traditional=False).
struct RopeTable {
  int dims = 0;  // of head_dim; the rest passes through; 0: no rotation
  bool traditional = false;
  std::vector<float> inv_freq;  // [dims/2]: angle = position · scale · inv_freq
  float scale = 1.0f;           // position scale (linear scaling)
  float mscale = 1.0f;          // multiplies the rotated dims before rotation (yarn, longrope)
  float query_growth = 0;       // queries are times 1 + growth · ln(1 + ⌊position / from⌋)
  int query_growth_from = 0;    // 0: they are not
};

/// One row's tokens within a flat step.
struct RowSlice {
  int start = 0;
  int length = 0;
};

/// Rotates q and k at their positions, appends k and v to each row's pages and attends causally.
/// Runs once, in order: the node writes into `rows`. Building it moves their offset() on; a later
/// node over the same rows waits for it, so steps may be built ahead, and evaluating the last
/// evaluates what it needs of the others.
///
/// @param q       [T, H, Dh] f32 (flat tokens; also accepts [1, T, H·Dh])
/// @param k, v    [T, Hk, Dh] f32
/// @param rows    one PagedKv a row, in the order of `slices`; offset() at build time is the
///                position of the slice's first token
/// @param q_norm, k_norm  per-head RMSNorm weights [Dh] f32 applied before rotation, or none
/// @return        [T, H·Dh] f32
/// @throws std::invalid_argument where shapes do not fit; then no offset has moved
struct AttendOptions {
  int heads, kv_heads, head_dim;
  float scale;
  RopeTable rope;
  std::optional<Array> q_norm, k_norm;
  float norm_eps = 1e-6f;
  bool norm_turned = false;    // after rotation instead of before
  float softcap = 0;           // c: scores become c · tanh(score / c); 0: as they are
  std::optional<Array> sinks;  // [H] f32: a logit a head that takes weight and gives nothing
};
Array attend(const Array& q, const Array& k, const Array& v,
             std::span<const std::shared_ptr<PagedKv>> rows, std::span<const RowSlice> slices,
             const AttendOptions& options);
/// The same over one array [..., (H + 2·Hk)·Dh] with q, k, v side by side.
Array attend(const Array& qkv, std::span<const std::shared_ptr<PagedKv>> rows,
             std::span<const RowSlice> slices, const AttendOptions& options);

/// Attends to what the rows' last node has written, and writes nothing: for layers that share the
/// keys and values of an earlier one. `slices` are that node's. @param q [T, H, Dh] f32
Array attend_again(const Array& q, std::span<const std::shared_ptr<PagedKv>> rows,
                   std::span<const RowSlice> slices, const AttendOptions& options);

/// The instruction set in use: "AVX2", "AVX3", "NEON", ...
const char* simd_name();

/// Threads of the pool; call before the first kernel. 0: one a core.
void set_threads(int threads);
int threads();

}  // namespace hearth::kernels
