#include "engine/dense.h"

#include <fmt/format.h>

#include <cmath>

#include "base/file.h"
#include "mlx/io.h"
#include "tensor/array.h"

namespace hearth::engine {

namespace mx = mlx::core;

namespace {

std::vector<float> numbers(const tensor::Array& x) {
  auto wide = mx::contiguous(mx::astype(x, mx::float32, mx::Device::cpu), false, mx::Device::cpu);
  mx::eval(wide);
  return {wide.data<float>(), wide.data<float>() + wide.size()};
}

}  // namespace

Result<Dense> Dense::load(const std::filesystem::path& folder) {
  const auto config = read_json_file(folder / "config.json");
  if (!config) return fail(config.error());
  Dense dense;
  const std::string activation = config->value("activation_function", "");
  dense.tanh_ = activation.ends_with(".Tanh");
  if (!dense.tanh_ && !activation.ends_with(".Identity")) {
    return fail(ErrorCode::unsupported,
                fmt::format("{}: activation_function is \"{}\", expected Identity or Tanh",
                            (folder / "config.json").string(), activation));
  }
  const auto file = folder / "model.safetensors";
  try {
    auto tensors = mx::load_safetensors(file.string(), mx::Device::cpu).first;
    const auto weight = tensors.find("linear.weight");
    if (weight == tensors.end() || weight->second.ndim() != 2) {
      return fail(ErrorCode::corrupt_file,
                  fmt::format("{}: has no matrix linear.weight", file.string()));
    }
    dense.inputs_ = weight->second.shape(1);
    dense.weight_ = numbers(weight->second);
    if (const auto bias = tensors.find("linear.bias"); bias != tensors.end()) {
      dense.bias_ = numbers(bias->second);
    }
  } catch (const std::exception& e) {
    return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", file.string(), e.what()));
  }
  if (!dense.bias_.empty() && int(dense.bias_.size()) != dense.outputs()) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: linear.bias has {} numbers, expected {}", file.string(),
                            dense.bias_.size(), dense.outputs()));
  }
  return dense;
}

std::vector<float> Dense::operator()(const std::vector<float>& x) const {
  std::vector<float> out;
  for (int n = 0; n < outputs(); ++n) {
    double sum = bias_.empty() ? 0 : bias_[n];
    for (int k = 0; k < inputs_; ++k) sum += double(weight_[std::size_t(n) * inputs_ + k]) * x[k];
    out.push_back(static_cast<float>(tanh_ ? std::tanh(sum) : sum));
  }
  return out;
}

}  // namespace hearth::engine
