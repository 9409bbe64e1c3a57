// Every instruction set that this processor has must compute the same, not only the best one.
#include "tensor/kernels/simd.h"
// After simd.h, which chooses the sets.
#include "hwy/highway.h"
#include "tensor/kernels/attend_testing.h"

namespace hearth::kernels {
namespace {

using namespace testing;  // NOLINT: the helpers of this file's tests

/// Runs one instruction set while it lives.
class Only {
 public:
  explicit Only(std::int64_t target) { choose(target); }
  ~Only() { choose(0); }

 private:
  static void choose(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<std::int64_t> instruction_sets() {
  std::vector<std::int64_t> sets;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    sets.push_back(left & -left);
  }
  return sets;
}

using InstructionSets = KernelTest;

TEST_F(InstructionSets, AreThoseOfTheProcessor) {
  const auto sets = instruction_sets();
  EXPECT_FALSE(sets.empty());
  for (const auto set : sets) {
    const Only only(set);
    EXPECT_STREQ(simd_name(), hwy::TargetName(set));
  }
}

TEST_F(InstructionSets, MultiplyAlike) {
  const Array x = normal({9, 384}, 1);
  for (const int bits : {2, 4, 8}) {
    const auto q = mx::quantize(normal({77, 384}, 2), 64, bits);
    const Array scales = mx::astype(q[1], mx::float16), biases = mx::astype(q[2], mx::float16);
    const Array plain = mx::dequantize(q[0], mx::astype(scales, mx::float32),
                                       mx::astype(biases, mx::float32), 64, bits);
    const Array expected = mx::matmul(x, mx::transpose(plain));
    const auto packed = PackedLinear::affine(q[0], scales, biases, 64, bits);
    for (const auto set : instruction_sets()) {
      const Only only(set);
      SCOPED_TRACE(simd_name());
      const Array got = linear(x, packed);
      EXPECT_LT(root_mean_square(mx::subtract(got, expected)), 1e-4f * root_mean_square(expected));
      expect_same_bits(linear(rows_of(x, 5, 1), packed), rows_of(got, 5, 1));
    }
  }
}

TEST_F(InstructionSets, MultiplyFloatsAlike) {
  const Array x = normal({9, 333}, 1);
  for (const auto dtype : {mx::float32, mx::float16, mx::bfloat16}) {
    const Array weight = mx::astype(normal({77, 333}, 2), dtype);
    const auto packed = PackedLinear::dense(weight);
    const Array expected = mx::matmul(x, mx::transpose(mx::astype(weight, mx::float32)));
    for (const auto set : instruction_sets()) {
      const Only only(set);
      SCOPED_TRACE(simd_name());
      const Array got = linear(x, packed);
      expect_within(got, expected, Array(1e-4f));
      expect_same_bits(linear(rows_of(x, 5, 1), packed), rows_of(got, 5, 1));
    }
  }
}

TEST_F(InstructionSets, NormAndGateAlike) {
  const Array x = normal({5, 576}, 1), weight = normal({576}, 2);
  const Array normed = mx::fast::rms_norm(x, weight, 1e-5f);
  const Array silu = mx::multiply(mx::multiply(x, mx::sigmoid(x)), x);
  for (const auto set : instruction_sets()) {
    const Only only(set);
    SCOPED_TRACE(simd_name());
    expect_within(rms_norm(x, weight, 1e-5f), normed, Array(1e-5f));
    expect_within(gated(x, x, Activation::silu), silu, Array(1e-5f));
  }
}

TEST_F(InstructionSets, AttendAlike) {
  const Shape s{6, 2, 80};
  const auto o = options_of(s);
  const Array qkv = tokens_of(s, 600, 1);
  const Array expected = plain_attention(s, qkv, o);
  for (const auto set : instruction_sets()) {
    const Only only(set);
    SCOPED_TRACE(simd_name());
    const auto kv = pages_for(s);
    const Array got = attend_row(qkv, kv, o);
    expect_within(got, expected, Array(3e-3f));
    kv->truncate(599);
    expect_same_bits(attend_row(rows_of(qkv, 599, 1), kv, o), rows_of(got, 599, 1));
  }
}

}  // namespace
}  // namespace hearth::kernels
