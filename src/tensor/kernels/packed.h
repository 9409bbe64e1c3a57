// What the linear node needs of packed weights, float or quantised.
#pragma once

#include <cstddef>
#include <vector>

#include "tensor/kernels/affine_simd.h"
#include "tensor/kernels/aligned.h"
#include "tensor/kernels/dense_simd.h"
#include "tensor/kernels/kernels.h"

namespace hearth::kernels {

class Packed : public PackedLinear {
 public:
  /// Activations of one product: as they came, and rounded where the weights are quantised.
  struct Activations {
    const float* exact = nullptr;  // [rows, inputs]
    const QuantizedRows* rounded = nullptr;
  };

  /// Inputs that share a scale, or 0 where the weights are floats.
  virtual int group() const = 0;
  virtual std::size_t block_bytes() const = 0;
  /// y[block][row][16] = the rows times blocks of outputs, without the bias.
  virtual void multiply(std::size_t first_block, std::size_t blocks, const Activations& x,
                        std::size_t first_row, std::size_t rows, float* y) const = 0;
  /// out [inputs]: the weights of one output.
  virtual void row(int output, float* out) const = 0;

  const std::vector<float>& bias() const { return bias_; }  // of each output, or empty
  Array rows(const Array& ids) const override;
  std::size_t bytes() const override {
    return blocks_of(outputs()) * block_bytes() + bias_.size() * sizeof(float);
  }

 protected:
  explicit Packed(const std::optional<Array>& bias);

 private:
  std::vector<float> bias_;
};

class PackedAffine final : public Packed {
 public:
  PackedAffine(const Array& weight, const Array& scales, const Array& biases, int group_size,
               int bits, const std::optional<Array>& bias);
  int outputs() const override { return view_.outputs; }
  int inputs() const override { return view_.inputs; }
  int group() const override { return view_.group; }
  std::size_t block_bytes() const override { return view_.block_bytes(); }
  void multiply(std::size_t first_block, std::size_t blocks, const Activations& x,
                std::size_t first_row, std::size_t rows, float* y) const override;
  void row(int output, float* out) const override;

 private:
  AlignedBytes data_;
  AffineView view_;
};

class PackedDense final : public Packed {
 public:
  PackedDense(const Array& weight, const std::optional<Array>& bias);
  int outputs() const override { return view_.outputs; }
  int inputs() const override { return view_.inputs; }
  int group() const override { return 0; }
  std::size_t block_bytes() const override { return view_.block_bytes(); }
  void multiply(std::size_t first_block, std::size_t blocks, const Activations& x,
                std::size_t first_row, std::size_t rows, float* y) const override;
  void row(int output, float* out) const override;

 private:
  AlignedBytes data_;
  DenseView view_;
};

using PackedLayers = std::vector<std::shared_ptr<const Packed>>;

/// out [rows, columns] = x [rows, K] times each layer, side by side, with their biases.
void multiply(const PackedLayers& layers, const float* x, std::size_t rows, std::size_t columns,
              float* out);

/// Evaluated and in row order, in host memory.
Array settled(const Array& x);

/// The number that `bits` store: f32 bits are read as they are, f16 and bf16 from the low half.
float stored_float(FloatKind kind, const std::byte* p);

}  // namespace hearth::kernels
