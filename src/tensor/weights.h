// A view of a checkpoint's tensors below a prefix, as the layers of a model take them.
// Checks shapes as it hands tensors out and remembers which were taken.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tensor/array.h"

namespace hearth::tensor {

/// A tensor is missing, misshapen or of a kind that the layer cannot take; names the full key.
struct WeightError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How one matrix is packed. Source: mlx.core.quantize.
struct Quantization {
  int group_size = 64;
  int bits = 4;
  std::string mode = "affine";  // affine, mxfp4, mxfp8 or nvfp4
  bool affine() const { return mode == "affine"; }
  bool operator==(const Quantization&) const = default;
};

/// Where the layers of a model run.
enum class Execution {
  plain,    // MLX ops in mlx-lm's order, the checkpoint's dtype
  kernels,  // our CPU kernels, float32 activations
};

class Weights {
 public:
  /// @param tensors        full name -> array
  /// @param quantization   config.json "quantization": defaults and exceptions by module path
  Weights(std::map<std::string, Array> tensors, Json quantization, Execution execution);

  /// The view one level down: w["model"]["layers"][3].
  Weights operator[](std::string_view name) const;
  Weights operator[](int index) const { return (*this)[std::to_string(index)]; }

  Execution execution() const;
  const std::string& prefix() const { return prefix_; }
  bool has(std::string_view name) const;

  /// The tensor `prefix.name`. Where it is missing or not of `shape`, zeros that nobody may compute
  /// with, and a line in faults(): a model is built to the end, so that all that is wrong is known.
  Array take(std::string_view name, const Shape& shape) const;
  std::optional<Array> take_if_there(std::string_view name, const Shape& shape) const;

  /// Makes one tensor an expert into one tensor for all: `experts.{}.up_proj` for 0..count-1 into
  /// `switch_mlp.up_proj`, its weight and what else it has. Nothing happens where there are none.
  /// @throws WeightError where some are missing
  void stack(std::string_view sources, int count, std::string_view target) const;

  /// Adds a tensor, or another in its place.
  void put(std::string_view name, Array tensor) const;

  /// Renames the tensors of this view that begin with `from`, or all. Source: mlx-lm's sanitize
  /// functions.
  void move(std::string_view from, std::string_view to) const;

  /// Puts what `change` gives for each tensor of this view in its place; none takes it out.
  void rewrite(const std::function<std::optional<Array>(std::string_view name,
                                                        const Array& tensor)>& change) const;

  /// How the matrix at this prefix is quantised; none when it is dense.
  /// @param inputs  K of the [N, K] matrix, or of the [E, N, K] matrices
  /// @throws WeightError for a mode, width or group that is not supported
  std::optional<Quantization> quantization(int inputs) const;

  /// What take() could not give, a line each, in the order of asking.
  const std::vector<std::string>& faults() const;

  /// Full names that no layer took, in order.
  std::vector<std::string> unused() const;

 private:
  struct Store;
  Weights(std::shared_ptr<Store> store, std::string prefix);
  std::string key(std::string_view name) const;

  std::shared_ptr<Store> store_;
  std::string prefix_;  // "" or "model.layers.0"
};

}  // namespace hearth::tensor
