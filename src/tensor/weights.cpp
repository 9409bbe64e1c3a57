#include "tensor/weights.h"

#include <fmt/format.h>

#include <set>

namespace hearth::tensor {

struct Weights::Store {
  std::map<std::string, Array> tensors;
  std::set<std::string> used;
  Json quantization;
  Execution execution;
};

Weights::Weights(std::map<std::string, Array> tensors, Json quantization, Execution execution)
    : store_(std::make_shared<Store>(
          Store{std::move(tensors), {}, std::move(quantization), execution})) {}

Weights::Weights(std::shared_ptr<Store> store, std::string prefix)
    : store_(std::move(store)), prefix_(std::move(prefix)) {}

std::string Weights::key(std::string_view name) const {
  return prefix_.empty() ? std::string(name) : fmt::format("{}.{}", prefix_, name);
}

Weights Weights::operator[](std::string_view name) const { return Weights(store_, key(name)); }

Execution Weights::execution() const { return store_->execution; }

bool Weights::has(std::string_view name) const { return store_->tensors.contains(key(name)); }

Array Weights::take(std::string_view name, const Shape& shape) const {
  if (auto found = take_if_there(name, shape)) return *found;
  throw WeightError(fmt::format("{} is missing, expected {}", key(name), to_string(shape)));
}

std::optional<Array> Weights::take_if_there(std::string_view name, const Shape& shape) const {
  const auto full = key(name);
  const auto found = store_->tensors.find(full);
  if (found == store_->tensors.end()) return std::nullopt;
  if (found->second.shape() != shape) {
    throw WeightError(fmt::format("{} is {}, expected {}", full, to_string(found->second.shape()),
                                  to_string(shape)));
  }
  store_->used.insert(full);
  return found->second;
}

std::optional<Quantization> Weights::quantization(int inputs) const {
  const auto& settings = store_->quantization;
  const auto own = settings.is_object() ? settings.find(prefix_) : settings.end();
  const bool listed = settings.is_object() && own != settings.end();
  if (listed && own->is_boolean() && !own->get<bool>()) return std::nullopt;
  const auto scales = store_->tensors.find(key("scales"));
  if (scales == store_->tensors.end()) {
    if (listed && own->is_object()) {
      throw WeightError(fmt::format("{} is missing, but config.json says that {} is quantised",
                                    key("scales"), prefix_));
    }
    return std::nullopt;
  }
  if (scales->second.dtype() == mx::uint8) {
    throw WeightError(
        fmt::format("{} is uint8: only affine quantisation is supported, "
                    "not mxfp4, mxfp8 or nvfp4",
                    key("scales")));
  }
  const auto words = store_->tensors.find(key("weight"));
  if (words == store_->tensors.end())
    throw WeightError(fmt::format("{} is missing", key("weight")));
  if (scales->second.ndim() != 2 || words->second.ndim() != 2 || scales->second.shape(1) < 1) {
    throw WeightError(fmt::format("{} is {} with scales {}, expected two matrices", key("weight"),
                                  to_string(words->second.shape()),
                                  to_string(scales->second.shape())));
  }
  // As mlx-lm infers them (utils.py, infer_quant_config); a listed module says its own.
  Quantization q{.group_size = inputs / scales->second.shape(1),
                 .bits = static_cast<int>(std::int64_t{32} * words->second.shape(1) / inputs)};
  if (listed && own->is_object()) {
    q.group_size = own->value("group_size", settings.value("group_size", q.group_size));
    q.bits = own->value("bits", settings.value("bits", q.bits));
  }
  const bool known_bits = (q.bits >= 2 && q.bits <= 6) || q.bits == 8;
  const bool known_group = q.group_size == 32 || q.group_size == 64 || q.group_size == 128;
  if (!known_bits || !known_group || inputs % q.group_size != 0) {
    throw WeightError(fmt::format(
        "{} has {} bits in groups of {} over {} inputs; expected 2-6 or 8 bits in groups of 32, 64 "
        "or 128 that divide the inputs",
        prefix_, q.bits, q.group_size, inputs));
  }
  return q;
}

std::vector<std::string> Weights::unused() const {
  std::vector<std::string> left;
  for (const auto& [name, tensor] : store_->tensors) {
    if (!store_->used.contains(name)) left.push_back(name);
  }
  return left;
}

}  // namespace hearth::tensor
