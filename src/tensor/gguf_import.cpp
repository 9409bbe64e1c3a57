#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <thread>

#include "tensor/gguf.h"
#include "tensor/gguf_blocks.h"
#include "tensor/gguf_config.h"
#include "tensor/gguf_file.h"
#include "tensor/gguf_names.h"
#include "tensor/half.h"

namespace hearth::tensor {
namespace mx = mlx::core;
namespace {

/// Calls work(first, last) for stretches of [0, rows), on as many threads as there are cores.
void over_rows(std::int64_t rows, std::int64_t row_bytes,
               const std::function<void(std::int64_t, std::int64_t)>& work) {
  constexpr std::int64_t worth_a_thread = 1 << 20;  // bytes
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const auto threads =
      std::clamp<std::int64_t>(rows * row_bytes / worth_a_thread, 1, std::min(cores, rows));
  std::vector<std::jthread> pool;
  for (std::int64_t i = 1; i < threads; ++i) {
    pool.emplace_back([&, i] { work(rows * i / threads, rows * (i + 1) / threads); });
  }
  work(0, rows / threads);
}

/// Which source row becomes row `to`. llama.cpp interleaves the two halves of each rotary head.
struct RowOrder {
  std::int64_t head_dim = 0;  // 0: as stored

  std::int64_t operator()(std::int64_t to) const {
    if (head_dim == 0) return to;
    const std::int64_t head = to / head_dim, i = to % head_dim, half = head_dim / 2;
    return head * head_dim + (i < half ? 2 * i : 2 * (i - half) + 1);
  }
};

class Importer {
 public:
  Importer(const GgufFile& file, GgufArch arch, Json config)
      : file_(file), arch_(arch), out_{.config = std::move(config)}, dense_(dense_dtype(file)) {}

  Result<Checkpoint> run() {
    const int layers = out_.config["num_hidden_layers"];
    for (const auto& [name, tensor] : file_.tensors()) {
      if (name == "rope_freqs.weight") continue;  // in config.json
      const auto target = mlx_name(arch_, name, layers);
      if (!target) {
        return fail(ErrorCode::unsupported,
                    fmt::format("tensor {}: not a tensor of {} with {} layers", name,
                                out_.config["model_type"].get<std::string>(), layers));
      }
      if (auto done = add(name, tensor, *target); !done) {
        return fail(done.error().code, fmt::format("tensor {}: {}", name, done.error().message));
      }
    }
    write_quantization();
    write_notes();
    for (const auto& [name, array] : out_.tensors) out_.bytes += array.nbytes();
    return std::move(out_);
  }

 private:
  /// float16 beside quantised tensors, whose scales are; else what the matrices have.
  static mx::Dtype dense_dtype(const GgufFile& file) {
    bool quantised = false, f16 = false, bf16 = false;
    for (const auto& [name, tensor] : file.tensors()) {
      quantised |= tensor.type->bits > 0;
      if (tensor.shape.size() < 2) continue;
      f16 |= tensor.type->id == GgufType::f16;
      bf16 |= tensor.type->id == GgufType::bf16;
    }
    if (quantised) return mx::float16;
    return bf16 ? mx::bfloat16 : f16 ? mx::float16 : mx::float32;
  }

  Result<RowOrder> row_order(const GgufTensor& tensor, GgufChange change) const {
    if (change != GgufChange::unpermute_q && change != GgufChange::unpermute_k) return RowOrder{};
    const bool bias = tensor.shape.size() == 1;
    const std::int64_t rows = bias ? tensor.row_length() : tensor.rows();
    const std::int64_t head_dim = out_.config["head_dim"];
    const std::int64_t heads =
        out_.config[change == GgufChange::unpermute_q ? "num_attention_heads"
                                                      : "num_key_value_heads"];
    if (rows != heads * head_dim) {
      return fail(ErrorCode::corrupt_file,
                  fmt::format("has {} rows, expected {} for {} heads of {}", rows, heads * head_dim,
                              heads, head_dim));
    }
    return RowOrder{head_dim};
  }

  Result<void> add(const std::string& name, const GgufTensor& tensor, const MlxName& target) {
    const bool matrix = tensor.shape.size() == 2;
    if (tensor.type->bits < 0) {
      return fail(
          ErrorCode::unsupported,
          fmt::format("is {}, which is not read here; use a Q4_K, Q5_K, Q6_K or Q8_0 file of "
                      "the model",
                      tensor.type->name));
    }
    if (!matrix && (tensor.shape.size() != 1 || tensor.type->bits > 0)) {
      return fail(ErrorCode::unsupported,
                  fmt::format("is {} in {}, expected a matrix or a float vector", tensor.shape,
                              tensor.type->name));
    }
    const auto order = row_order(tensor, target.change);
    if (!order) return fail(order.error());
    ++counts_[tensor.type->id];
    if (tensor.type->bits > 0) return add_affine(tensor, target.name, *order);
    if (matrix && name.ends_with(".weight")) modules_[module_of(target.name)] = 0;
    return add_dense(tensor, target, *order);
  }

  static std::string module_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

  Result<void> add_affine(const GgufTensor& tensor, const std::string& name, RowOrder order) {
    const auto rows = tensor.rows(), columns = tensor.row_length();
    const auto words = columns * tensor.type->bits / 32, groups = columns / gguf_group;
    const auto shape = [&](std::int64_t width) {
      return mx::Shape{static_cast<int>(rows), static_cast<int>(width)};
    };
    Array weight = fresh_array(shape(words), mx::uint32);
    Array scales = fresh_array(shape(groups), mx::float16);
    Array biases = fresh_array(shape(groups), mx::float16);
    auto* const to_words = weight.data<std::uint32_t>();
    auto* const to_scales = scales.data<std::uint16_t>();
    auto* const to_biases = biases.data<std::uint16_t>();
    const std::uint8_t* from = file_.bytes_of(tensor).data();
    const auto row_bytes = static_cast<std::int64_t>(tensor.bytes) / rows;
    std::atomic<bool> good = true;
    over_rows(rows, row_bytes, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        if (!affine_row(
                tensor.type->id, from + order(row) * row_bytes, columns,
                {to_words + row * words, to_scales + row * groups, to_biases + row * groups})) {
          good = false;
        }
      }
    });
    if (!good) {
      return fail(
          ErrorCode::corrupt_file,
          fmt::format("a {} block has a scale that is not a finite float16", tensor.type->name));
    }
    const std::string module = module_of(name);
    modules_[module] = tensor.type->bits;
    out_.tensors.emplace(name, std::move(weight));
    out_.tensors.emplace(module + ".scales", std::move(scales));
    out_.tensors.emplace(module + ".biases", std::move(biases));
    return {};
  }

  static mx::Dtype dtype_of(GgufType type) {
    return type == GgufType::f32 ? mx::float32 : type == GgufType::f16 ? mx::float16 : mx::bfloat16;
  }

  Result<void> add_dense(const GgufTensor& tensor, const MlxName& target, RowOrder order) {
    mx::Shape shape(tensor.shape.begin(), tensor.shape.end());
    const bool as_stored = order.head_dim == 0 && target.change == GgufChange::none;
    if (as_stored && dtype_of(tensor.type->id) == dense_) {
      out_.tensors.emplace(target.name, mapped_array(file_.file(), tensor.offset, shape, dense_));
      return {};
    }
    // A vector's rows are its numbers.
    const auto columns = shape.size() == 1 ? 1 : tensor.row_length();
    const auto rows = shape.size() == 1 ? tensor.row_length() : tensor.rows();
    const auto row_bytes = static_cast<std::int64_t>(tensor.bytes) / rows;
    const float shift = target.change == GgufChange::minus_one ? 1.0f : 0.0f;
    const std::uint8_t* from = file_.bytes_of(tensor).data();
    Array out = fresh_array(std::move(shape), dense_);
    std::atomic<bool> good = true;
    over_rows(rows, row_bytes, [&](std::int64_t first, std::int64_t last) {
      std::vector<float> values(static_cast<std::size_t>(columns));
      for (std::int64_t row = first; row < last; ++row) {
        float_row(tensor.type->id, from + order(row) * row_bytes, columns, values.data());
        if (!store(values, shift, out, row * columns)) good = false;
      }
    });
    if (!good) {
      return fail(ErrorCode::unsupported, "holds numbers beyond float16's 65504");
    }
    out_.tensors.emplace(target.name, std::move(out));
    return {};
  }

  /// Writes values - shift in the dense dtype. False if a finite number became infinite.
  bool store(const std::vector<float>& values, float shift, Array& out, std::int64_t at) const {
    bool good = true;
    if (dense_ == mx::float32) {
      float* to = out.data<float>() + at;
      for (const float value : values) *to++ = value - shift;
    } else if (dense_ == mx::bfloat16) {
      auto* to = out.data<std::uint16_t>() + at;
      for (const float value : values) *to++ = float_to_bfloat(value - shift);
    } else {
      auto* to = out.data<std::uint16_t>() + at;
      for (const float value : values) {
        *to = float_to_half(value - shift);
        good &= (*to++ & 0x7fffu) != 0x7c00u || std::isinf(value);
      }
    }
    return good;
  }

  /// The commonest width as the default, the others by module, as mlx-lm writes them.
  void write_quantization() {
    std::map<int, int> votes;
    for (const auto& [module, bits] : modules_) {
      if (bits > 0) ++votes[bits];
    }
    if (votes.empty()) return;
    const int usual =
        std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; })->first;
    Json quantization{{"group_size", gguf_group}, {"bits", usual}, {"mode", "affine"}};
    for (const auto& [module, bits] : modules_) {
      if (bits == usual) continue;
      quantization[module] =
          bits == 0 ? Json(false) : Json{{"group_size", gguf_group}, {"bits", bits}};
    }
    out_.config["quantization"] = std::move(quantization);
  }

  void write_notes() {
    for (const auto& [type, count] : counts_) {
      const auto& info = *find_gguf_type(static_cast<std::uint32_t>(type));
      const auto note = [&](const char* how) {
        out_.notes.push_back(
            fmt::format("{} {} tensor{} requantised to {} bits in groups of {} ({})", count,
                        info.name, count == 1 ? "" : "s", info.bits, gguf_group, how));
      };
      if (type == GgufType::q4_k || type == GgufType::q5_k) {
        note("codes kept, scales rounded to float16");
      } else if (type == GgufType::q2_k || type == GgufType::q3_k || type == GgufType::q6_k) {
        note("codes anew");
      }
    }
  }

  const GgufFile& file_;
  const GgufArch arch_;
  Checkpoint out_;
  const mx::Dtype dense_;
  std::map<std::string, int> modules_;  // bits of each matrix; 0: dense
  std::map<GgufType, int> counts_;
};

Result<Checkpoint> import(const GgufFile& file) {
  const Json& metadata = file.metadata();
  const auto name = metadata.find("general.architecture");
  if (name == metadata.end() || !name->is_string()) {
    return fail(ErrorCode::corrupt_file, "metadata has no general.architecture");
  }
  const auto arch = find_gguf_arch(name->get_ref<const std::string&>());
  if (!arch) {
    return fail(ErrorCode::unsupported, fmt::format("architecture '{}' is not read here; known: {}",
                                                    name->get<std::string>(), known_gguf_archs()));
  }
  const auto parts = metadata.find("split.count");
  if (parts != metadata.end() && parts->is_number_integer() && *parts > 1) {
    return fail(ErrorCode::unsupported,
                fmt::format("is one of {} parts; join them first, for example with llama.cpp's "
                            "llama-gguf-split --merge",
                            parts->get<int>()));
  }
  auto config = gguf_config(*arch, file);
  if (!config) return fail(config.error());
  return Importer(file, *arch, std::move(*config)).run();
}

}  // namespace

Result<Json> gguf_metadata(const std::filesystem::path& path) {
  auto file = GgufFile::open(path);
  if (!file) return fail(file.error());
  return file->metadata();
}

Result<Checkpoint> load_gguf(const std::filesystem::path& path) {
  const auto file = GgufFile::open(path);
  if (!file) return fail(file.error());
  auto out = import(*file);
  if (!out)
    return fail(out.error().code, fmt::format("{}: {}", path.string(), out.error().message));
  return out;
}

}  // namespace hearth::tensor
