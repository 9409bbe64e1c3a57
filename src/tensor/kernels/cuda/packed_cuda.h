// Weights as the products on the device read them.
#pragma once

#include <optional>
#include <string>

#include "tensor/kernels/cuda/arguments.h"
#include "tensor/kernels/cuda/launch.h"
#include "tensor/kernels/kernels.h"

namespace hearth::kernels::cuda {

class PackedCuda final : public PackedLinear {
 public:
  struct Parts {
    Array weights;                // uint32 words, tile of 16 outputs after tile
    std::optional<Array> scales;  // uint32 pairs of halves {scale, bias}; none for floats
    std::optional<Array> bias;    // [N] f32
    int outputs, inputs;
    int bits;    // 4, 8, or 16 for bfloat16
    int groups;  // of an output's inputs; 0 for floats
    bool f16_scales;
  };
  explicit PackedCuda(Parts parts) : parts_(std::move(parts)) {}

  int outputs() const override { return parts_.outputs; }
  int inputs() const override { return parts_.inputs; }
  Array rows(const Array& ids) const override;
  std::size_t bytes() const override;

  const Parts& parts() const { return parts_; }
  int tiles() const { return (parts_.outputs + 15) / 16; }
  /// What the kernels' names call it: "q4", "q4g32", "q8", "q8g32", "bf16".
  std::string kind() const;

 private:
  const Parts parts_;
};

}  // namespace hearth::kernels::cuda
