// The linear node: rounds the activations once, then works through tasks of rows × blocks.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tensor/kernels/cuda/cuda.h"
#include "tensor/kernels/node.h"
#include "tensor/kernels/packed.h"
#include "tensor/kernels/thread_pool.h"

namespace hearth::kernels {
namespace mx = mlx::core;
namespace {

using Layers = PackedLayers;

constexpr std::size_t rows_at_once = 64;    // of a task, so that activations stay in L2
constexpr std::size_t tiles_at_once = 256;  // rows × blocks of a task: 16 KiB of results
constexpr std::size_t few_rows = 4;         // up to here the weights' bytes set the pace
constexpr std::size_t least_task_bytes = 8 << 10, most_task_bytes = 64 << 10;
constexpr std::size_t serial_bytes = 48
                                     << 10;  // less weight than this is done before a worker wakes

struct Task {
  const Packed* layer;
  std::size_t column;  // of the layer's first output
  std::size_t first_block, blocks;
  std::size_t first_row, rows;
};

std::size_t weight_bytes(const Layers& layers) {
  std::size_t bytes = 0;
  for (const auto& layer : layers) bytes += layer->bytes();
  return bytes;
}

/// Blocks of a layer that one task takes for `rows` rows.
std::size_t blocks_at_once(const Packed& layer, std::size_t rows, std::size_t all_bytes) {
  const std::size_t most = std::max<std::size_t>(1, tiles_at_once / rows);
  if (rows > few_rows) return std::min<std::size_t>(most, 4);
  const std::size_t share = all_bytes / (4 * static_cast<std::size_t>(threads()));
  const std::size_t bytes = std::clamp(share, least_task_bytes, most_task_bytes);
  return std::clamp<std::size_t>(bytes / layer.block_bytes(), 1, most);
}

std::vector<Task> plan(const Layers& layers, std::size_t rows) {
  std::vector<Task> tasks;
  const std::size_t all_bytes = weight_bytes(layers);
  for (std::size_t r = 0; r < rows; r += rows_at_once) {
    const std::size_t some = std::min(rows_at_once, rows - r);
    std::size_t column = 0;
    for (const auto& layer : layers) {
      const std::size_t blocks = blocks_of(layer->outputs());
      const std::size_t step = blocks_at_once(*layer, some, all_bytes);
      for (std::size_t b = 0; b < blocks; b += step) {
        tasks.push_back({layer.get(), column, b, std::min(step, blocks - b), r, some});
      }
      column += layer->outputs();
    }
  }
  return tasks;
}

/// The activations rounded for every group size among the layers.
class Rounded {
 public:
  Rounded(const Layers& layers, const float* x, std::size_t rows) {
    struct Use;
    const std::size_t inputs = layers[0]->inputs();
    std::size_t bytes = 0;
    for (const auto& layer : layers) {
      if (layer->group() == 0 || find(layer->group())) continue;
      bytes += rows * (inputs * 2 + inputs / layer->group() * 8) + 64;
      sizes_.push_back({.values = nullptr,
                        .scales = nullptr,
                        .sums = nullptr,
                        .inputs = static_cast<int>(inputs),
                        .group = layer->group(),
                        .groups = static_cast<int>(inputs) / layer->group()});
    }
    std::byte* memory = scratch<Use>(bytes);
    for (auto& size : sizes_) {
      const std::size_t scales = rows * size.groups;
      size.scales = reinterpret_cast<float*>(memory);
      size.sums = size.scales + scales;
      size.values = reinterpret_cast<std::int16_t*>(size.sums + scales);
      memory += rows * (inputs * 2 + size.groups * std::size_t{8}) + 32;
      memory -= reinterpret_cast<std::uintptr_t>(memory) % 32;
      for_each_task(rows, rows * inputs > 65536,
                    [&](std::size_t r) { quantize_row(x + r * inputs, size, r); });
    }
  }

  const QuantizedRows* find(int group) const {
    for (const auto& size : sizes_) {
      if (size.group == group) return &size;
    }
    return nullptr;
  }

 private:
  std::vector<QuantizedRows> sizes_;
};

void run_task(const Task& task, const Packed::Activations& x, std::size_t columns, float* out) {
  alignas(64) float y[tiles_at_once * block_lanes];
  task.layer->multiply(task.first_block, task.blocks, x, task.first_row, task.rows, y);
  const float* bias = task.layer->bias().empty() ? nullptr : task.layer->bias().data();
  for (std::size_t b = 0; b < task.blocks; ++b) {
    const std::size_t n = (task.first_block + b) * block_lanes;
    const std::size_t lanes = std::min<std::size_t>(block_lanes, task.layer->outputs() - n);
    for (std::size_t r = 0; r < task.rows; ++r) {
      const float* from = y + (b * task.rows + r) * block_lanes;
      float* to = out + (task.first_row + r) * columns + task.column + n;
      if (bias == nullptr) {
        std::copy_n(from, lanes, to);
      } else {
        for (std::size_t i = 0; i < lanes; ++i) to[i] = from[i] + bias[n + i];
      }
    }
  }
}

}  // namespace

void multiply(const Layers& layers, const float* x, std::size_t rows, std::size_t columns,
              float* out) {
  const Rounded rounded(layers, x, rows);
  const auto tasks = plan(layers, rows);
  const bool parallel = weight_bytes(layers) * std::max<std::size_t>(1, rows / 2) > serial_bytes;
  for_each_task(tasks.size(), parallel, [&](std::size_t i) {
    const Packed::Activations of{.exact = x, .rounded = rounded.find(tasks[i].layer->group())};
    run_task(tasks[i], of, columns, out);
  });
}

namespace {

class Linear final : public Node {
 public:
  explicit Linear(Layers layers) : layers_(std::move(layers)) {}
  const char* name() const override { return "hearth::kernels::Linear"; }

  void eval_cpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    const float* x = row_order(inputs[0]);
    float* out = allocate(outputs[0]);
    const std::size_t columns = outputs[0].shape(-1);
    const std::size_t rows = outputs[0].size() / columns;
    if (rows == 0) return;
    dispatch([=, layers = layers_] { multiply(layers, x, rows, columns, out); });
  }

 private:
  Layers layers_;
};

Array build(const Array& x, Layers layers) {
  require_float32(x, "linear: x");
  auto shape = x.shape();
  int columns = 0;
  for (const auto& layer : layers) {
    if (shape.empty() || shape.back() != layer->inputs()) {
      throw std::invalid_argument(fmt::format("linear: x has rows of {}, expected {}",
                                              shape.empty() ? 0 : shape.back(), layer->inputs()));
    }
    columns += layer->outputs();
  }
  shape.back() = columns;
  return Array(std::move(shape), mx::float32, std::make_shared<Linear>(std::move(layers)), {x});
}

}  // namespace

Array linear(const Array& x, std::shared_ptr<const PackedLinear> weights) {
  return linear(x, {&weights, 1});
}

Array linear(const Array& x, std::span<const std::shared_ptr<const PackedLinear>> weights) {
  if (weights.empty()) throw std::invalid_argument("linear: no layers");
  if (cuda::packed(*weights[0])) return cuda::linear(x, weights);
  Layers layers;
  for (const auto& w : weights) layers.push_back(std::static_pointer_cast<const Packed>(w));
  return build(x, std::move(layers));
}

Array linear_plus(const Array& residual, const Array& x,
                  const std::shared_ptr<const PackedLinear>& weights) {
  if (cuda::packed(*weights)) return cuda::linear(x, {&weights, 1}, residual);
  return mx::add(residual, linear(x, weights));
}

}  // namespace hearth::kernels
