#include "tensor/rope.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace hearth::tensor {
namespace {

float number(const Json& scaling, const char* key) {
  const auto found = scaling.find(key);
  if (found == scaling.end() || !found->is_number()) {
    throw std::invalid_argument(fmt::format("rope_scaling has no number \"{}\"", key));
  }
  return found->get<float>();
}

float number_or(const Json& scaling, const char* key, float otherwise) {
  const auto found = scaling.find(key);
  return found == scaling.end() || found->is_null() ? otherwise : number(scaling, key);
}

Array scalar(float value) { return Array(value, mx::float32); }

/// base^(2i/dims) for i in [0, dims/2), in float32 as mlx-lm computes it
Array powers(float base, int dims) {
  return mx::power(scalar(base), mx::arange(0.0, double(dims), 2.0, mx::float32) / scalar(dims));
}

}  // namespace

Rope::Rope(const RopeSettings& settings) : settings_(settings) {
  if (settings.dims < 2 || settings.dims % 2 != 0) {
    throw std::invalid_argument(
        fmt::format("rotary dimensions are {}, expected an even number", settings.dims));
  }
  table_.dims = settings.dims;
  table_.traditional = settings.traditional;
  for (int i = 0; i < settings.dims / 2; ++i) {
    table_.inv_freq.push_back(
        static_cast<float>(std::pow(double(settings.base), -2.0 * i / settings.dims)));
  }
  table_.query_growth = settings.query_growth;
  table_.query_growth_from = settings.query_growth_from;
  if (settings.tabulated) use_frequencies(powers(settings.base, settings.dims));
  const auto& scaling = settings.scaling;
  if (!scaling.is_object()) return;
  std::string type = "default";
  for (const char* key : {"rope_type", "type"}) {
    if (auto it = scaling.find(key); it != scaling.end() && it->is_string()) type = *it;
  }
  if (type == "default" || type == "mrope") return;
  if (type == "linear") {
    linear(number(scaling, "factor"));
  } else if (type == "llama3") {
    llama3(scaling);
  } else if (type == "yarn" || type == "deepseek_yarn" || type == "telechat3-yarn") {
    yarn(scaling);
  } else if (type == "longrope" || type == "su") {
    longrope(scaling);
  } else if (type == "proportional") {
    proportional(scaling);
  } else if (type == "dynamic") {
    dynamic(scaling);
  } else {
    throw std::invalid_argument(fmt::format(
        "unknown rope type \"{}\"; known: default, linear, dynamic, llama3, yarn, longrope, "
        "proportional",
        type));
  }
}

void Rope::linear(float factor) {
  // Python divides in double and rounds once.
  scale_ = static_cast<float>(1.0 / double(factor));
  table_.scale = scale_;
}

void Rope::llama3(const Json& scaling) {
  const float factor = number(scaling, "factor");
  const float low = number_or(scaling, "low_freq_factor", 1.0f);
  const float high = number_or(scaling, "high_freq_factor", 4.0f);
  const float original = number_or(scaling, "original_max_position_embeddings", 8192.0f);
  const auto low_wavelen = scalar(static_cast<float>(double(original) / low));
  const auto high_wavelen = scalar(static_cast<float>(double(original) / high));

  auto freqs = powers(settings_.base, settings_.dims);
  const auto wavelens = scalar(static_cast<float>(2 * std::numbers::pi)) * freqs;
  freqs = mx::where(wavelens > low_wavelen, freqs * scalar(factor), freqs);
  const auto is_medium = (wavelens > high_wavelen) && (wavelens < low_wavelen);
  const auto smooth = (scalar(original) / wavelens - scalar(low)) /
                      scalar(static_cast<float>(double(high) - double(low)));
  const auto smoothed = freqs / ((scalar(1) - smooth) / scalar(factor) + smooth);
  use_frequencies(mx::where(is_medium, smoothed, freqs));
}

void Rope::yarn(const Json& scaling) {
  const double factor = number(scaling, "factor");
  const double original = number_or(scaling, "original_max_position_embeddings", 4096);
  const double beta_fast = number_or(scaling, "beta_fast", 32);
  const double beta_slow = number_or(scaling, "beta_slow", 1);
  const double base = settings_.base;
  const int dims = settings_.dims;
  const auto correction_dim = [&](double rotations) {
    return (dims * std::log(original / (rotations * 2 * std::numbers::pi))) / (2 * std::log(base));
  };
  const auto mscale = [&](double m) {
    return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1.0;
  };
  input_scale_ = static_cast<float>(mscale(number_or(scaling, "mscale", 1)) /
                                    mscale(number_or(scaling, "mscale_all_dim", 0)));
  const double low = std::max(std::floor(correction_dim(beta_fast)), 0.0);
  double high = std::min(std::ceil(correction_dim(beta_slow)), double(dims - 1));
  const auto extra = powers(settings_.base, dims);
  const auto inter = scalar(static_cast<float>(factor)) * extra;
  if (low == high) high += 0.001;
  const auto ramp = mx::clip((mx::arange(0.0, dims / 2.0, 1.0, mx::float32) - scalar(float(low))) /
                                 scalar(static_cast<float>(high - low)),
                             scalar(0), scalar(1));
  const auto mask = scalar(1) - ramp;
  use_frequencies((inter * extra) / (inter * mask + extra * (scalar(1) - mask)));
}

void Rope::longrope(const Json& scaling) {
  const auto factors = scaling.find("long_factor");
  if (factors == scaling.end() || !factors->is_array() ||
      factors->size() != std::size_t(settings_.dims / 2)) {
    throw std::invalid_argument(
        fmt::format("rope_scaling needs {} numbers in \"long_factor\"", settings_.dims / 2));
  }
  const auto values = factors->get<std::vector<float>>();
  const double original = number(scaling, "original_max_position_embeddings");
  const double factor = settings_.max_position_embeddings / original;
  input_scale_ =
      factor <= 1 ? 1.0f : static_cast<float>(std::sqrt(1 + std::log(factor) / std::log(original)));
  always_scale_input_ = true;
  settings_.traditional = table_.traditional = false;
  use_frequencies(Array(values.data(), {int(values.size())}, mx::float32) *
                  powers(settings_.base, settings_.dims));
}

void Rope::proportional(const Json& scaling) {
  const int dims = settings_.dims;
  const int rotated = static_cast<int>(dims * number_or(scaling, "partial_rotary_factor", 1.0f));
  if (rotated > dims) throw std::invalid_argument("rope_scaling rotates more than the head's size");
  const auto exponents =
      mx::arange(0.0, double(rotated), 2.0, mx::float32) / scalar(static_cast<float>(dims));
  const auto turning =
      scalar(number_or(scaling, "factor", 1.0f)) * mx::power(scalar(settings_.base), exponents);
  const auto still = mx::full({(dims - rotated) / 2}, std::numeric_limits<float>::infinity());
  use_frequencies(mx::concatenate({turning, still}));
}

void Rope::dynamic(const Json& scaling) {
  dynamic_factor_ = number(scaling, "factor");
  if (settings_.max_position_embeddings < 1) {
    throw std::invalid_argument("rope_scaling \"dynamic\" needs max_position_embeddings");
  }
}

/// Grows with what lies beyond the window; within it, where our kernels are used, it is the base.
float Rope::base_at(int tokens) const {
  if (dynamic_factor_ == 0) return settings_.base;
  const double window = settings_.max_position_embeddings, dims = settings_.dims;
  const double factor = dynamic_factor_;
  const double stretch = factor * std::max(double(tokens), window) / window - (factor - 1);
  return static_cast<float>(settings_.base * std::pow(stretch, dims / (dims - 2)));
}

void Rope::use_frequencies(const Array& freqs) {
  auto evaluated = mx::contiguous(freqs);
  mx::eval(evaluated);
  freqs_ = evaluated;
  const float* values = evaluated.data<float>();
  for (std::size_t i = 0; i < table_.inv_freq.size(); ++i) {
    table_.inv_freq[i] = static_cast<float>(1.0 / double(values[i]));
  }
  table_.mscale = input_scale_;
}

Array Rope::queries(const Array& q, int offset) const {
  const auto turned = (*this)(q, offset);
  if (settings_.query_growth_from == 0) return turned;
  const int length = q.shape(-2);
  const auto rounds = mx::floor(mx::arange(offset, offset + length) /
                                Array(settings_.query_growth_from, mx::int32));
  const auto growth = scalar(1) + scalar(settings_.query_growth) * mx::log(scalar(1) + rounds);
  return turned * mx::astype(mx::expand_dims(growth, 1), q.dtype());
}

Array Rope::operator()(const Array& x, int offset) const {
  if (settings_.dims == 0) return x;
  auto turned = x;
  if (input_scale_ != 1.0f || always_scale_input_) {
    // x.at[..., :dims].multiply(s): the factor takes x's dtype, as a Python scalar does.
    const auto factor = Array(input_scale_, x.dtype());
    auto end = x.shape();
    end.back() = settings_.dims;
    const Shape start(x.ndim(), 0);
    turned = settings_.dims == x.shape(-1)
                 ? x * factor
                 : mx::slice_update(x, mx::slice(x, start, end) * factor, start, end);
  }
  const auto base = freqs_ ? std::nullopt : std::optional<float>(base_at(x.shape(-2) + offset));
  return mx::fast::rope(turned, settings_.dims, settings_.traditional, base, scale_, offset,
                        freqs_);
}

}  // namespace hearth::tensor
