#include "tensor/kernels/packed.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "tensor/kernels/cuda/cuda.h"
#include "tensor/kernels/node.h"
#include "tensor/kernels/thread_pool.h"

namespace hearth::kernels {
namespace mx = mlx::core;
namespace {

/// ids [T] -> rows of the table
class Rows final : public Node {
 public:
  explicit Rows(std::shared_ptr<const Packed> table) : table_(std::move(table)) {}
  const char* name() const override { return "hearth::kernels::Rows"; }

  void eval_cpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    float* to = allocate(outputs[0]);
    dispatch([ids = inputs[0].data<std::int32_t>(), count = inputs[0].size(), to, table = table_] {
      const std::size_t width = table->inputs();
      for_each_task(count, count * width > 65536, [&](std::size_t i) {
        if (ids[i] < 0 || ids[i] >= table->outputs()) {
          throw std::out_of_range(fmt::format("embedding: id {} is not in the table of {} rows",
                                              ids[i], table->outputs()));
        }
        table->row(ids[i], to + i * width);
      });
    });
  }

 private:
  std::shared_ptr<const Packed> table_;
};

std::vector<float> floats(const std::optional<Array>& x) {
  if (!x) return {};
  const Array all = settled(mx::astype(*x, mx::float32, cpu_stream()));
  return std::vector<float>(all.data<float>(), all.data<float>() + all.size());
}

}  // namespace

Array settled(const Array& x) {
  Array y = mx::contiguous(x, false, cpu_stream());
  y.eval();
  return y;
}

float stored_float(FloatKind kind, const std::byte* p) {
  if (kind == FloatKind::f32) {
    float x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  std::uint16_t half;
  std::memcpy(&half, p, sizeof half);
  if (kind == FloatKind::f16) {
    mx::float16_t x;
    std::memcpy(&x, &half, sizeof x);
    return static_cast<float>(x);
  }
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

Packed::Packed(const std::optional<Array>& bias) : bias_(floats(bias)) {}

Array Packed::rows(const Array& ids) const {
  auto shape = ids.shape();
  shape.push_back(inputs());
  const auto in_order =
      mx::contiguous(mx::astype(ids, mx::int32, cpu_stream()), false, cpu_stream());
  return Array(std::move(shape), mx::float32,
               std::make_shared<Rows>(std::static_pointer_cast<const Packed>(shared_from_this())),
               {in_order});
}

std::shared_ptr<const PackedLinear> PackedLinear::affine(const Array& weight, const Array& scales,
                                                         const Array& biases, int group_size,
                                                         int bits,
                                                         const std::optional<Array>& bias) {
  if (cuda::active()) {
    return cuda::pack_affine(weight, scales, biases, group_size, bits, bias);
  }
  return std::make_shared<PackedAffine>(weight, scales, biases, group_size, bits, bias);
}

std::shared_ptr<const PackedLinear> PackedLinear::dense(const Array& weight,
                                                        const std::optional<Array>& bias) {
  if (cuda::active()) return cuda::pack_dense(weight, bias);
  return std::make_shared<PackedDense>(weight, bias);
}

bool PackedLinear::takes_affine(int n, int k, int group_size, int bits) {
  const bool groups = group_size == 32 || group_size == 64 || group_size == 128;
  const bool values = bits == 2 || bits == 3 || bits == 4 || bits == 5 || bits == 6 || bits == 8;
  return groups && values && n > 0 && k > 0 && k % group_size == 0;
}

}  // namespace hearth::kernels
