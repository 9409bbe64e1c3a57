// Attention on the device over contiguous keys and values.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tensor/kernels/cuda/cuda.h"
#include "tensor/kernels/cuda/node.h"

namespace hearth::kernels::cuda {
namespace mx = mlx::core;
namespace {

constexpr int chunk_tokens = 64;
constexpr int tile_queries = 16;

/// Stands for all keys and values of a thread's sequences in the order of launches. They are no
/// inputs of the graph: two of each row and layer would cost more than the rest of a step.
const Array& kv_order() {
  thread_local const Array order = device_memory({1}, mx::float32);
  return order;
}

struct Row {
  RowSlice slice;
  DeviceKv kv;  // as it was before the step
};

/// {qkv, norms} -> {out, laid out}; writes into the rows' keys and values.
class Attend final : public GpuNode {
 public:
  Attend(AttendOptions options, std::vector<Row> rows, int window, int tokens)
      : options_(std::move(options)), rows_(std::move(rows)), window_(window), tokens_(tokens) {}
  const char* name() const override { return "hearth::kernels::cuda::Attend"; }
  // Only merged chunks are laid out: a prompt's rows are many enough for a launch of its own.
  int laid_out() const override { return split_all() ? 0 : -1; }

  void eval_gpu(const std::vector<Array>& inputs, std::vector<Array>& outputs) override {
    Launcher launch(stream());
    launch.allocate(outputs[0]);
    for (int i = 1; i < 3 && !split_all(); ++i) launch.allocate(outputs[i]);
    if (tokens_ == 0) return;
    const auto queries =
        launch.scratch(std::size_t{2} * tokens_ * options_.heads * options_.head_dim);
    for (std::size_t first = 0; first < rows_.size(); first += most_rows) {
      const auto last = std::min<std::size_t>(first + most_rows, rows_.size());
      for (auto i = first; i < last; ++i) grow(launch, rows_[i].kv);
      auto a = arguments(launch, inputs, outputs);
      a.queries = launch.write<std::uint16_t>(queries);
      run(launch, a, first, last, outputs);
    }
  }

  /// Whether the queries of a kv head fit one tile, so that each chunk gets a warp.
  bool splits(const Row& row) const {
    return row.slice.length * options_.heads / options_.kv_heads <= tile_queries;
  }
  bool split_all() const {
    return rows_.size() <= most_rows &&
           std::ranges::all_of(rows_, [&](const Row& row) { return splits(row); });
  }

 private:
  /// Moves what was written into larger memory.
  void grow(Launcher& launch, const DeviceKv& kv) const {
    if (!kv.grown_from) return;
    const int eighths = options_.head_dim / 8;
    const auto move = [&](const Array& from, const Array& to) {
      const GrowArguments a{.from = launch.read<void>(from),
                            .to = launch.write<void>(to),
                            .old_numbers = from.shape(2) * eighths,
                            .new_numbers = to.shape(2) * eighths};
      launch.write<void>(kv_order());
      launch.run("attend_grow",
                 {static_cast<unsigned>(a.new_numbers + 255) / 256,
                  static_cast<unsigned>(options_.kv_heads)},
                 256, a);
    };
    move(kv.grown_from->first, kv.keys);
    move(kv.grown_from->second, kv.values);
  }

  AttendArguments arguments(Launcher& launch, const std::vector<Array>& inputs,
                            std::vector<Array>& outputs) const {
    AttendArguments a{};
    const int width = options_.head_dim;
    std::size_t next = 1;
    a.q = launch.read<float>(inputs[0]);
    a.k = a.q + options_.heads * width;
    a.v = a.k + options_.kv_heads * width;
    a.q_stride = a.kv_stride = (options_.heads + 2 * options_.kv_heads) * width;
    if (options_.q_norm) a.q_norm = launch.read<float>(inputs[next++]);
    if (options_.k_norm) a.k_norm = launch.read<float>(inputs[next++]);
    a.out = launch.write<float>(outputs[0]);
    a.heads = options_.heads;
    a.kv_heads = options_.kv_heads;
    a.dims = options_.rope.dims;
    a.traditional = options_.rope.traditional;
    a.window = window_;
    a.eps = options_.norm_eps;
    a.scale = options_.scale;
    a.rope_scale = options_.rope.scale;
    a.mscale = options_.rope.mscale;
    std::ranges::copy(options_.rope.inv_freq, a.inv_freq);
    return a;
  }

  /// Rows [first, last): their tokens are neighbours.
  void run(Launcher& launch, AttendArguments& a, std::size_t first, std::size_t last,
           std::vector<Array>& outputs) const {
    const int heads = options_.heads, dims = options_.head_dim;
    const int from = rows_[first].slice.start;
    int partials = 0, most_chunks = 0, most_tiles = 0;
    for (auto i = first; i < last; ++i) {
      const Row& row = rows_[i];
      auto& to = a.row[a.rows++];
      to = {.keys = static_cast<std::uint16_t*>(Launcher::address(row.kv.keys)),
            .values = static_cast<std::uint16_t*>(Launcher::address(row.kv.values)),
            .start = row.slice.start - from,
            .length = row.slice.length,
            .offset = row.kv.offset,
            .capacity = row.kv.keys.shape(2)};
      a.tokens += row.slice.length;
      if (splits(row)) {
        to.chunks = (row.kv.offset + row.slice.length + chunk_tokens - 1) / chunk_tokens;
        to.first_partial = partials;
        partials += row.slice.length * heads * to.chunks;
        most_chunks = std::max(most_chunks, to.chunks);
      } else {
        const int queries = row.slice.length * heads / options_.kv_heads;
        most_tiles = std::max(most_tiles, (queries + tile_queries - 1) / tile_queries);
      }
    }
    a.q += std::size_t(from) * a.q_stride;
    a.k += std::size_t(from) * a.kv_stride;
    a.v += std::size_t(from) * a.kv_stride;
    a.out += std::size_t(from) * heads * dims;
    a.queries += std::size_t(from) * heads * dims;
    const auto name = [&](const char* stage) { return fmt::format("attend_{}_{}", stage, dims); };
    const auto all_heads = static_cast<unsigned>(heads + 2 * options_.kv_heads);
    const auto kv_heads = static_cast<unsigned>(options_.kv_heads),
               rows = static_cast<unsigned>(a.rows);
    launch.write<void>(kv_order());
    launch.run(name("append"), {static_cast<unsigned>(a.tokens), (all_heads + 3) / 4}, 128, a);
    if (most_tiles > 0) {
      order(launch, outputs);
      launch.run(name("serial"), {(most_tiles + 3u) / 4u, kv_heads, rows}, 128, a);
    }
    if (most_chunks > 0) split(launch, a, partials, most_chunks, outputs);
  }

  void split(Launcher& launch, AttendArguments& a, int partials, int most_chunks,
             std::vector<Array>& outputs) const {
    const int dims = options_.head_dim;
    const auto name = [&](const char* stage) { return fmt::format("attend_{}_{}", stage, dims); };
    const auto values = launch.scratch(std::size_t{4} * partials * dims);
    const auto weights = launch.scratch(std::size_t{8} * partials);
    order(launch, outputs);
    a.partials = launch.write<float>(values);
    a.weights = launch.write<float>(weights);
    launch.run(
        name("split"),
        {(most_chunks + 3u) / 4u, static_cast<unsigned>(a.kv_heads), static_cast<unsigned>(a.rows)},
        128, a);
    order(launch, outputs);
    launch.write<float>(values);
    if (split_all()) a.fragments = lay_out(launch, outputs[1], outputs[2], options_.heads * dims);
    const unsigned threads = static_cast<unsigned>(a.tokens) * options_.heads * (dims / 8);
    launch.run(name("merge"), {(threads + 127) / 128}, 128, a);
  }

  /// What is launched next comes after what was launched before.
  static void order(Launcher& launch, std::vector<Array>& outputs) {
    launch.write<float>(outputs[0]);
    launch.write<void>(kv_order());
  }

  AttendOptions options_;
  std::vector<Row> rows_;
  int window_, tokens_;
};

void check(const AttendOptions& options, std::span<DeviceKv* const> rows,
           std::span<const RowSlice> slices) {
  if (!takes_heads(options.head_dim) || options.rope.inv_freq.size() > most_frequencies) {
    throw std::invalid_argument(fmt::format(
        "attend: heads of {} numbers, the CUDA kernels take 64 and 128", options.head_dim));
  }
  if (rows.size() != slices.size()) {
    throw std::invalid_argument(
        fmt::format("attend: {} rows for {} slices", rows.size(), slices.size()));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int needed = rows[i]->offset + slices[i].length, room = rows[i]->keys.shape(2);
    if (needed <= room && room % chunk_tokens == 0) continue;
    throw std::invalid_argument(
        fmt::format("attend: row {} has room for {} tokens, expected a multiple of 64 from {} on",
                    i, room, needed));
  }
}

}  // namespace

DeviceKv with_room(const std::optional<DeviceKv>& kv, int length, int kv_heads, int head_dim) {
  constexpr int step = 256;
  const int had = kv ? kv->keys.shape(2) : 0, offset = kv ? kv->offset : 0;
  if (kv && offset + length <= had) return *kv;
  // A quarter more than there was: what is moved stays a small share of what is written.
  const int room = (std::max(offset + length, had + had / 4) + step - 1) / step * step;
  const auto memory = [&](int tokens) {
    return device_memory({1, kv_heads, tokens, head_dim}, mx::float16);
  };
  const auto from = kv ? std::pair(kv->keys, kv->values) : std::pair(memory(0), memory(0));
  return {memory(room), memory(room), offset, from};
}

bool takes_heads(int head_dim) { return head_dim == 64 || head_dim == 128; }

Array attend(const Array& qkv, std::span<DeviceKv* const> rows, std::span<const RowSlice> slices,
             const AttendOptions& options, int window) {
  check(options, rows, slices);
  const int width = options.heads * options.head_dim;
  const int tokens = static_cast<int>(rows_of(qkv));
  std::vector<Array> inputs{in_rows(qkv, "attend: qkv")};
  if (options.q_norm) inputs.push_back(*options.q_norm);
  if (options.k_norm) inputs.push_back(*options.k_norm);
  const auto [values, sums] = laid_shapes(tokens, width);
  std::vector<Row> work;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    work.push_back({slices[i], *rows[i]});
    rows[i]->grown_from.reset();
    rows[i]->offset += slices[i].length;
  }
  auto outputs = Array::make_arrays(
      {{tokens, width}, values, sums}, {mx::float32, mx::uint32, mx::float32},
      std::make_shared<Attend>(options, std::move(work), window, tokens), std::move(inputs));
  return outputs[0];
}

}  // namespace hearth::kernels::cuda
