#include "tensor/weights.h"

#include <fmt/format.h>

#include <set>

namespace hearth::tensor {

struct Weights::Store {
  std::map<std::string, Array> tensors;
  std::set<std::string> used;
  std::vector<std::string> faults;
  Json quantization;
  Execution execution;
};

Weights::Weights(std::map<std::string, Array> tensors, Json quantization, Execution execution)
    : store_(std::make_shared<Store>(
          Store{std::move(tensors), {}, {}, std::move(quantization), execution})) {}

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
  const auto full = key(name);
  if (!store_->tensors.contains(full)) {
    store_->faults.push_back(fmt::format("{} is missing, expected {}", full, to_string(shape)));
  }
  return mx::zeros(shape, mx::float32);
}

std::optional<Array> Weights::take_if_there(std::string_view name, const Shape& shape) const {
  const auto full = key(name);
  const auto found = store_->tensors.find(full);
  if (found == store_->tensors.end()) return std::nullopt;
  if (found->second.shape() != shape) {
    store_->used.insert(full);
    store_->faults.push_back(fmt::format("{} is {}, expected {}", full,
                                         to_string(found->second.shape()), to_string(shape)));
    return std::nullopt;
  }
  store_->used.insert(full);
  return found->second;
}

void Weights::stack(std::string_view sources, int count, std::string_view target) const {
  auto& tensors = store_->tensors;
  const auto name = [&](int i, const char* part) {
    return key(fmt::format("{}.{}", fmt::format(fmt::runtime(sources), i), part));
  };
  for (const char* part : {"weight", "scales", "biases", "bias"}) {
    if (!tensors.contains(name(0, part))) continue;
    std::vector<Array> parts;
    for (int i = 0; i < count; ++i) {
      const auto found = tensors.find(name(i, part));
      if (found == tensors.end()) throw WeightError(name(i, part) + " is missing");
      parts.push_back(found->second);
      tensors.erase(found);
    }
    tensors.insert_or_assign(key(fmt::format("{}.{}", target, part)), mx::stack(parts));
  }
}

void Weights::rewrite(
    const std::function<std::optional<Array>(std::string_view, const Array&)>& change) const {
  auto& tensors = store_->tensors;
  for (auto at = tensors.begin(); at != tensors.end();) {
    if (!at->first.starts_with(prefix_)) {
      ++at;
      continue;
    }
    if (auto changed = change(at->first, at->second)) {
      at->second = std::move(*changed);
      ++at;
    } else {
      at = tensors.erase(at);
    }
  }
}

void Weights::put(std::string_view name, Array tensor) const {
  store_->tensors.insert_or_assign(key(name), std::move(tensor));
}

void Weights::move(std::string_view from, std::string_view to) const {
  auto& tensors = store_->tensors;
  const auto start = key(from), target = key(to);
  auto at = tensors.lower_bound(start);
  std::vector<std::pair<std::string, Array>> moved;
  while (at != tensors.end() && at->first.starts_with(start)) {
    moved.emplace_back(target + at->first.substr(start.size()), at->second);
    at = tensors.erase(at);
  }
  for (auto& [name, tensor] : moved) tensors.insert_or_assign(name, tensor);
}

namespace {

/// The one of MLX's float formats that bits and group belong to; empty: none of them.
std::string float_mode(const Quantization& q) {
  if (q.bits == 4 && q.group_size == 32) return "mxfp4";
  if (q.bits == 8 && q.group_size == 32) return "mxfp8";
  return q.bits == 4 && q.group_size == 16 ? "nvfp4" : "";
}

}  // namespace

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
  const auto words = store_->tensors.find(key("weight"));
  if (words == store_->tensors.end())
    throw WeightError(fmt::format("{} is missing", key("weight")));
  const auto &shape = words->second.shape(), &scale_shape = scales->second.shape();
  if (shape.size() < 2 || scale_shape.size() != shape.size() || scale_shape.back() < 1) {
    throw WeightError(fmt::format("{} is {} with scales {}, expected two matrices", key("weight"),
                                  to_string(shape), to_string(scale_shape)));
  }
  // As mlx-lm infers them (utils.py, infer_quant_config); a listed module says its own.
  Quantization q{.group_size = inputs / scale_shape.back(),
                 .bits = static_cast<int>(std::int64_t{32} * shape.back() / inputs)};
  if (scales->second.dtype() == mx::uint8) {
    q.mode = float_mode(q);
    if (!q.mode.empty() && inputs % q.group_size == 0) return q;
    throw WeightError(fmt::format(
        "{} has {} bits in groups of {} under uint8 scales; expected 4 in 32 (mxfp4), 8 in 32 "
        "(mxfp8) or 4 in 16 (nvfp4)",
        prefix_, q.bits, q.group_size));
  }
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

const std::vector<std::string>& Weights::faults() const { return store_->faults; }

std::vector<std::string> Weights::unused() const {
  std::vector<std::string> left;
  for (const auto& [name, tensor] : store_->tensors) {
    if (!store_->used.contains(name)) left.push_back(name);
  }
  return left;
}

}  // namespace hearth::tensor
