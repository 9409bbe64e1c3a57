// Products on the device: one launch for all layers of a kind that share x.
#include <fmt/format.h>

#include <stdexcept>

#include "tensor/kernels/cuda/cuda.h"
#include "tensor/kernels/cuda/node.h"
#include "tensor/kernels/cuda/packed_cuda.h"

namespace hearth::kernels::cuda {
namespace mx = mlx::core;
namespace {

using Layers = std::vector<std::shared_ptr<const PackedCuda>>;

// Of a block of `many`: sums of 128 x 128, and 4 stages of 128 rows.
constexpr unsigned many_bytes = 128 * 128 * 4 + 4 * (128 * 64 * 2 + 1024);
/// Of a block of `few`: of its 8 warps, stages of some tiles of 8 rows.
constexpr unsigned few_bytes(unsigned row_tiles, unsigned stages) {
  return 8 * stages * row_tiles * 1088;
}
constexpr unsigned wide_tiles = 1024;  // from here on blocks of 64 outputs keep the device busy
constexpr unsigned few_rows = 32;      // up to here the weights' bytes set the pace

/// The layout of x in a node of its own, for x that no node of ours has laid out.
class LayOut final : public GpuNode {
 public:
  const char* name() const override { return "hearth::kernels::cuda::LayOut"; }

  void eval_gpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    Launcher launch(stream());
    const int width = inputs[0].shape(-1);
    const auto rows = static_cast<unsigned>(rows_of(inputs[0]));
    const GateArguments a{.gate = nullptr,
                          .up = launch.read<float>(inputs[0]),
                          .out = nullptr,
                          .fragments = lay_out(launch, outputs[0], outputs[1], width),
                          .width = width,
                          .stride = width,
                          .gelu = 0};
    if (rows > 0) launch.run("gated", {(width + 2047u) / 2048u, rows}, 256, a);
  }
};

/// {values, sums} or {values, sums, residual} -> products side by side
class Linear final : public GpuNode {
 public:
  explicit Linear(Layers layers) : layers_(std::move(layers)) {}
  const char* name() const override { return "hearth::kernels::cuda::Linear"; }

  void eval_gpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    Launcher launch(stream());
    launch.allocate(outputs[0]);
    if (outputs[0].size() == 0) return;
    int column = 0;
    for (std::size_t first = 0; first < layers_.size();) {
      auto last = first + 1;
      while (last < layers_.size() && last - first < most_layers &&
             alike(*layers_[first], *layers_[last])) {
        ++last;
      }
      column = run(launch, first, last, column, inputs, outputs[0]);
      first = last;
    }
  }

 private:
  static bool alike(const PackedCuda& a, const PackedCuda& b) {
    return a.kind() == b.kind() && a.parts().groups == b.parts().groups &&
           a.parts().f16_scales == b.parts().f16_scales;
  }

  /// @return the column behind these layers'
  int run(Launcher& launch, std::size_t first, std::size_t last, int column,
          const std::vector<Array>& inputs, Array& out) {
    const auto& like = layers_[first]->parts();
    ProductArguments a{};
    a.x = launch.read<void>(inputs[0]);
    a.sums = launch.read<float>(inputs[1]);
    a.residual = inputs.size() > 2 ? launch.read<float>(inputs[2]) : nullptr;
    a.out = launch.write<float>(out);
    a.k_tiles = like.inputs / 64;
    a.columns = out.shape(-1);
    a.rows = static_cast<int>(rows_of(out));
    a.groups = like.groups;
    a.group_shift = like.groups > 0 && like.inputs / like.groups == 128;
    a.f16_scales = like.f16_scales;
    for (auto i = first; i < last; ++i) {
      const auto& parts = layers_[i]->parts();
      a.layers[a.layer_count++] = {
          .weights = launch.read<void>(parts.weights),
          .scales = parts.scales ? launch.read<void>(*parts.scales) : nullptr,
          .bias = parts.bias ? launch.read<float>(*parts.bias) : nullptr,
          .first_tile = a.tiles,
          .outputs = parts.outputs,
          .first_column = column};
      a.tiles += layers_[i]->tiles();
      column += parts.outputs;
    }
    start(launch, layers_[first]->kind(), a);
    return column;
  }

  static void start(Launcher& launch, const std::string& kind, const ProductArguments& a) {
    const auto tiles = static_cast<unsigned>(a.tiles), rows = static_cast<unsigned>(a.rows);
    const auto run = [&](const char* name, unsigned outputs_a_block, unsigned bytes) {
      launch.run(name + kind, {(tiles + outputs_a_block / 16 - 1) / (outputs_a_block / 16)}, 256, a,
                 bytes);
    };
    if (rows > few_rows) {
      launch.run("many_" + kind, {(rows + 127) / 128, (tiles + 7) / 8}, 256, a, many_bytes);
    } else if (rows > 16) {
      if (tiles >= wide_tiles) return run("few32w_", 64, few_bytes(4, 3));
      run("few32_", 32, few_bytes(4, 3));
    } else if (rows > 8) {
      run("few16_", 16, few_bytes(2, 4));
    } else {
      run("few8_", 16, few_bytes(1, 4));
    }
  }

  Layers layers_;
};

Laid lay_out(const Array& x) {
  if (const auto known = laid_out(x)) return *known;
  const auto [values, sums] = laid_shapes(rows_of(x), x.shape(-1));
  auto outputs = Array::make_arrays({values, sums}, {mx::uint32, mx::float32},
                                    std::make_shared<LayOut>(), {in_rows(x, "linear: x")});
  return {outputs[0], outputs[1]};
}

}  // namespace

Array linear(const Array& x, std::span<const std::shared_ptr<const PackedLinear>> weights,
             const std::optional<Array>& residual) {
  Layers layers;
  auto shape = x.shape();
  int columns = 0;
  for (const auto& w : weights) {
    if (shape.empty() || shape.back() != w->inputs()) {
      throw std::invalid_argument(fmt::format("linear: x has rows of {}, expected {}",
                                              shape.empty() ? 0 : shape.back(), w->inputs()));
    }
    layers.push_back(std::static_pointer_cast<const PackedCuda>(w));
    columns += w->outputs();
  }
  shape.back() = columns;
  const auto laid = lay_out(x);
  std::vector<Array> inputs{laid.values, laid.sums};
  if (residual) inputs.push_back(in_rows(*residual, "linear: residual"));
  return Array(std::move(shape), mx::float32, std::make_shared<Linear>(std::move(layers)),
               std::move(inputs));
}

}  // namespace hearth::kernels::cuda
