// The nodes that work row by row on the device: norms, gates, embedding rows.
#include "tensor/kernels/cuda/cuda.h"
#include "tensor/kernels/cuda/node.h"
#include "tensor/kernels/cuda/packed_cuda.h"

namespace hearth::kernels::cuda {
namespace mx = mlx::core;
namespace {

unsigned blocks(std::size_t work, std::size_t a_block) {
  return static_cast<unsigned>((work + a_block - 1) / a_block);
}

/// {x} or {x, weight} or {x, y, weight} -> {normalised, laid out} or, with y, {sum, normalised,
/// laid out}
class Norm final : public GpuNode {
 public:
  Norm(float eps, bool adds) : eps_(eps), adds_(adds) {}
  const char* name() const override { return "hearth::kernels::cuda::Norm"; }
  int laid_out() const override { return adds_ ? 1 : 0; }

  void eval_gpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    Launcher launch(stream());
    auto& out = outputs[laid_out()];
    if (adds_) launch.allocate(outputs[0]);
    launch.allocate(out);
    const int width = out.shape(-1);
    const auto rows = rows_of(out);
    const bool weighted = inputs.size() > (adds_ ? 2 : 1);
    NormArguments a{
        .x = launch.read<float>(inputs[0]),
        .y = adds_ ? launch.read<float>(inputs[1]) : nullptr,
        .weight = weighted ? launch.read<float>(inputs.back()) : nullptr,
        .sum = adds_ ? launch.write<float>(outputs[0]) : nullptr,
        .out = launch.write<float>(out),
        .fragments = lay_out(launch, outputs[laid_out() + 1], outputs[laid_out() + 2], width),
        .width = width,
        .eps = eps_};
    if (rows > 0) launch.run("rms_norm", {static_cast<unsigned>(rows)}, 512, a);
  }

 private:
  float eps_;
  bool adds_;
};

/// {gate, up} or {gate beside up} -> {gated, laid out}
class Gated final : public GpuNode {
 public:
  explicit Gated(Activation activation) : gelu_(activation == Activation::gelu_tanh) {}
  const char* name() const override { return "hearth::kernels::cuda::Gated"; }
  int laid_out() const override { return 0; }

  void eval_gpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    Launcher launch(stream());
    launch.allocate(outputs[0]);
    const int width = outputs[0].shape(-1);
    const auto rows = rows_of(outputs[0]);
    const bool together = inputs.size() == 1;
    const auto* gate = launch.read<float>(inputs[0]);
    const GateArguments a{.gate = gate,
                          .up = together ? gate + width : launch.read<float>(inputs[1]),
                          .out = launch.write<float>(outputs[0]),
                          .fragments = lay_out(launch, outputs[1], outputs[2], width),
                          .width = width,
                          .stride = together ? 2 * width : width,
                          .gelu = gelu_};
    if (rows > 0)
      launch.run("gated", {blocks(width, 8 * 256), static_cast<unsigned>(rows)}, 256, a);
  }

 private:
  bool gelu_;
};

/// ids -> rows of the table
class Rows final : public GpuNode {
 public:
  explicit Rows(std::shared_ptr<const PackedCuda> table) : table_(std::move(table)) {}
  const char* name() const override { return "hearth::kernels::cuda::Rows"; }

  void eval_gpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    Launcher launch(stream());
    launch.allocate(outputs[0]);
    const auto& parts = table_->parts();
    const RowsArguments a{
        .ids = launch.read<std::int32_t>(inputs[0]),
        .weights = launch.read<std::uint32_t>(parts.weights),
        .scales = parts.scales ? launch.read<std::uint32_t>(*parts.scales) : nullptr,
        .out = launch.write<float>(outputs[0]),
        .inputs = parts.inputs,
        .outputs = parts.outputs,
        .bits = parts.bits,
        .groups = parts.groups,
        .f16_scales = parts.f16_scales};
    const auto ids = static_cast<unsigned>(inputs[0].size());
    if (ids > 0) launch.run("rows", {blocks(parts.inputs, 8 * 128), ids}, 128, a);
  }

 private:
  std::shared_ptr<const PackedCuda> table_;
};

/// The outputs of a node whose last is laid out.
std::vector<Array> make(std::vector<mx::Shape> shapes, std::shared_ptr<mx::Primitive> node,
                        std::vector<Array> inputs) {
  std::size_t rows = 1;
  const auto& shape = shapes.back();
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  const auto [values, sums] = laid_shapes(rows, shape.back());
  shapes.push_back(values);
  shapes.push_back(sums);
  std::vector<mx::Dtype> types(shapes.size(), mx::float32);
  types[types.size() - 2] = mx::uint32;
  return Array::make_arrays(std::move(shapes), types, std::move(node), std::move(inputs));
}

}  // namespace

bool active() { return mx::default_device() == mx::Device::gpu && available(); }

Array rms_norm(const Array& x, const std::optional<Array>& weight, float eps) {
  std::vector<Array> inputs{in_rows(x, "rms_norm: x")};
  if (weight) inputs.push_back(*weight);
  return make({x.shape()}, std::make_shared<Norm>(eps, false), std::move(inputs))[0];
}

std::pair<Array, Array> add_rms_norm(const Array& x, const Array& y, const Array& weight,
                                     float eps) {
  auto both = make({x.shape(), x.shape()}, std::make_shared<Norm>(eps, true),
                   {in_rows(x, "add_rms_norm: x"), in_rows(y, "add_rms_norm: y"), weight});
  return {both[0], both[1]};
}

Array gated(const Array& gate, const std::optional<Array>& up, Activation activation) {
  auto shape = gate.shape();
  if (!up) shape.back() /= 2;
  std::vector<Array> inputs{in_rows(gate, "gated: gate")};
  if (up) inputs.push_back(in_rows(*up, "gated: up"));
  return make({std::move(shape)}, std::make_shared<Gated>(activation), std::move(inputs))[0];
}

Array PackedCuda::rows(const Array& ids) const {
  auto shape = ids.shape();
  shape.push_back(inputs());
  return Array(
      std::move(shape), mx::float32,
      std::make_shared<Rows>(std::static_pointer_cast<const PackedCuda>(shared_from_this())),
      {mx::contiguous(mx::astype(ids, mx::int32))});
}

}  // namespace hearth::kernels::cuda
