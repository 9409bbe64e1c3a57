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

struct Row {
  RowSlice slice;
  int offset, capacity;
};

/// {qkv, norms, keys and values of each row} -> {out, laid out, the rows' keys and values}
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
    const std::size_t first_kv = inputs.size() - 2 * rows_.size();
    for (std::size_t i = 0; i < 2 * rows_.size(); ++i) {
      outputs[3 + i].copy_shared_buffer(inputs[first_kv + i]);
    }
    if (tokens_ == 0) return;
    const auto queries =
        launch.scratch(std::size_t{2} * tokens_ * options_.heads * options_.head_dim);
    for (std::size_t first = 0; first < rows_.size(); first += most_rows) {
      const auto last = std::min<std::size_t>(first + most_rows, rows_.size());
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
      to = {.keys = launch.write<std::uint16_t>(outputs[3 + 2 * i]),
            .values = launch.write<std::uint16_t>(outputs[4 + 2 * i]),
            .start = row.slice.start - from,
            .length = row.slice.length,
            .offset = row.offset,
            .capacity = row.capacity};
      a.tokens += row.slice.length;
      if (splits(row)) {
        to.chunks = (row.offset + row.slice.length + chunk_tokens - 1) / chunk_tokens;
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
    launch.run(name("append"), {static_cast<unsigned>(a.tokens), (all_heads + 3) / 4}, 128, a);
    // Every launch orders itself behind the one before it by what both write: the output.
    if (most_tiles > 0) {
      order(launch, outputs, first, last);
      launch.run(name("serial"), {(most_tiles + 3u) / 4u, kv_heads, rows}, 128, a);
    }
    if (most_chunks > 0) split(launch, a, partials, most_chunks, outputs, first, last);
  }

  void split(Launcher& launch, AttendArguments& a, int partials, int most_chunks,
             std::vector<Array>& outputs, std::size_t first, std::size_t last) const {
    const int dims = options_.head_dim;
    const auto name = [&](const char* stage) { return fmt::format("attend_{}_{}", stage, dims); };
    const auto values = launch.scratch(std::size_t{4} * partials * dims);
    const auto weights = launch.scratch(std::size_t{8} * partials);
    order(launch, outputs, first, last);
    a.partials = launch.write<float>(values);
    a.weights = launch.write<float>(weights);
    launch.run(
        name("split"),
        {(most_chunks + 3u) / 4u, static_cast<unsigned>(a.kv_heads), static_cast<unsigned>(a.rows)},
        128, a);
    order(launch, outputs, first, last);
    launch.write<float>(values);
    if (split_all()) a.fragments = lay_out(launch, outputs[1], outputs[2], options_.heads * dims);
    const unsigned threads = static_cast<unsigned>(a.tokens) * options_.heads * (dims / 8);
    launch.run(name("merge"), {(threads + 127) / 128}, 128, a);
  }

  static void order(Launcher& launch, std::vector<Array>& outputs, std::size_t first,
                    std::size_t last) {
    launch.write<float>(outputs[0]);
    for (auto i = first; i < last; ++i) {
      launch.read<std::uint16_t>(outputs[3 + 2 * i]);
      launch.read<std::uint16_t>(outputs[4 + 2 * i]);
    }
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
  std::vector<mx::Shape> shapes{{tokens, width}, values, sums};
  std::vector<mx::Dtype> types{mx::float32, mx::uint32, mx::float32};
  std::vector<Row> work;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& x : {rows[i]->keys, rows[i]->values}) {
      inputs.push_back(x);
      shapes.push_back(x.shape());
      types.push_back(mx::float16);
    }
    work.push_back({slices[i], rows[i]->offset, rows[i]->keys.shape(2)});
  }
  auto outputs = Array::make_arrays(
      std::move(shapes), types, std::make_shared<Attend>(options, std::move(work), window, tokens),
      std::move(inputs));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]->keys = outputs[3 + 2 * i];
    rows[i]->values = outputs[4 + 2 * i];
    rows[i]->offset += slices[i].length;
  }
  return outputs[0];
}

}  // namespace hearth::kernels::cuda
