// Steps of a Llama of random weights on the default device: the kernels against plain MLX
// operations, outputs compared first, then tokens a second of decoding and of reading a prompt.
//
// usage: device_bench 1b|8b|small BITS kernels|plain|compare [rows] [context] [steps] [prompt]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/bench.h"
#include "models/load.h"
#include "tensor/cache/layer_cache.h"

namespace {

using namespace hearth;
using tensor::Array;
namespace mx = mlx::core;

Json shape(const std::string& name) {
  Json config{{"model_type", "llama"}, {"rms_norm_eps", 1e-5}, {"rope_theta", 500000.0}};
  const auto set = [&](int hidden, int inner, int layers, int heads, int kv_heads, int vocabulary) {
    config["hidden_size"] = hidden;
    config["intermediate_size"] = inner;
    config["num_hidden_layers"] = layers;
    config["num_attention_heads"] = heads;
    config["num_key_value_heads"] = kv_heads;
    config["head_dim"] = hidden / heads;
    config["vocab_size"] = vocabulary;
    config["max_position_embeddings"] = 131072;
    config["tie_word_embeddings"] = name != "8b";
  };
  if (name == "8b") {
    set(4096, 14336, 32, 32, 8, 128256);
  } else if (name == "1b") {
    set(2048, 8192, 16, 32, 8, 128256);
  } else {
    set(512, 1024, 2, 8, 2, 1000);
  }
  return config;
}

/// Random weights, 0.02 wide, quantised in groups of 64 where bits say so.
class RandomModel {
 public:
  RandomModel(const Json& config, int bits) : bits_(bits) {
    made_.config = config;
    if (bits < 16) made_.config["quantization"] = {{"group_size", 64}, {"bits", bits}};
    const int hidden = config["hidden_size"], inner = config["intermediate_size"];
    const int kv = int(config["num_key_value_heads"]) * int(config["head_dim"]);
    matrix("model.embed_tokens", config["vocab_size"], hidden);
    if (!bool(config["tie_word_embeddings"])) matrix("lm_head", config["vocab_size"], hidden);
    ones("model.norm", hidden);
    for (int i = 0; i < int(config["num_hidden_layers"]); ++i) {
      const auto layer = fmt::format("model.layers.{}.", i);
      matrix(layer + "self_attn.q_proj", hidden, hidden);
      matrix(layer + "self_attn.k_proj", kv, hidden);
      matrix(layer + "self_attn.v_proj", kv, hidden);
      matrix(layer + "self_attn.o_proj", hidden, hidden);
      matrix(layer + "mlp.gate_proj", inner, hidden);
      matrix(layer + "mlp.up_proj", inner, hidden);
      matrix(layer + "mlp.down_proj", hidden, inner);
      ones(layer + "input_layernorm", hidden);
      ones(layer + "post_attention_layernorm", hidden);
    }
  }
  tensor::Checkpoint take() { return std::move(made_); }

 private:
  void put(const std::string& name, Array x) {
    x.eval();
    made_.bytes += x.nbytes();
    made_.tensors.emplace(name, std::move(x));
  }
  void matrix(const std::string& name, int n, int k) {
    const auto w =
        mx::astype(mx::random::normal({n, k}, mx::float32, 0.0f, 0.02f, mx::random::key(seed_++)),
                   mx::bfloat16);
    if (bits_ == 16) return put(name + ".weight", w);
    const auto q = mx::quantize(w, 64, bits_);
    put(name + ".weight", q[0]);
    put(name + ".scales", q[1]);
    put(name + ".biases", q[2]);
  }
  void ones(const std::string& name, int n) { put(name + ".weight", mx::ones({n}, mx::bfloat16)); }

  int bits_;
  std::uint64_t seed_ = 0;
  tensor::Checkpoint made_;
};

class Rows {
 public:
  Rows(const models::Model& model, bool kernels, int count) : model_(model) {
    for (int i = 0; i < count; ++i)
      caches_.push_back(tensor::make_sequence_cache(model.caches(), kernels));
  }

  /// @param tokens [1, rows · each]; @return logits of each row's last token, [rows, V] f32
  Array step(const Array& tokens, int each) {
    std::vector<tensor::RowSlice> slices;
    std::vector<tensor::SequenceCache*> caches;
    std::vector<int> last;
    for (auto& cache : caches_) {
      slices.push_back({int(slices.size()) * each, each});
      caches.push_back(&cache);
      last.push_back(int(slices.size()) * each - 1);
    }
    tensor::StepCache step(slices, caches);
    auto hidden = model_.forward(tokens, step);
    const int rows = int(last.size());
    if (each > 1) hidden = mx::take(hidden, Array(last.data(), {rows}, mx::int32), 1);
    const auto logits = model_.logits(hidden);
    return mx::reshape(logits, {rows, logits.shape(-1)});
  }

 private:
  const models::Model& model_;
  std::vector<tensor::SequenceCache> caches_;
};

Array prompt_of(int count, int vocabulary) {
  auto ids = mx::astype(
      mx::random::randint(0, vocabulary, {1, count}, mx::int32, mx::random::key(77)), mx::int32);
  ids.eval();
  return ids;
}

Array next_of(const Array& logits) {
  return mx::reshape(mx::astype(mx::argmax(logits, -1), mx::int32), {1, logits.shape(0)});
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Speed {
  double per_second;  // tokens of all rows
  double submit_ms;   // of a step: building it and handing it to the device
};

/// Of decoding; each step is submitted before the one before it is read.
Speed decode(const models::Model& model, bool kernels, int rows, int context, int steps) {
  Rows all(model, kernels, rows);
  auto token = next_of(all.step(prompt_of(rows * context, model.vocab_size()), context));
  mx::eval(token);
  std::chrono::steady_clock::time_point start;
  double submitting = 0;
  constexpr int warm = 8;
  for (int i = 0; i < warm + steps; ++i) {
    if (i == warm) start = std::chrono::steady_clock::now();
    const auto began = std::chrono::steady_clock::now();
    const auto next = next_of(all.step(token, 1));
    mx::async_eval(next);
    if (i >= warm) submitting += seconds_since(began);
    mx::eval(token);
    token = next;
  }
  mx::eval(token);
  return {rows * steps / seconds_since(start), 1e3 * submitting / steps};
}

double prefill(const models::Model& model, bool kernels, int tokens) {
  std::vector<double> speeds;
  const auto prompt = prompt_of(tokens, model.vocab_size());
  for (int i = 0; i < 5; ++i) {
    Rows row(model, kernels, 1);
    const auto start = std::chrono::steady_clock::now();
    mx::eval(next_of(row.step(prompt, tokens)));
    speeds.push_back(tokens / seconds_since(start));
  }
  return bench::median({speeds.begin() + 1, speeds.end()});
}

float relative(const Array& a, const Array& b) {
  const auto size = [](const Array& x) {
    auto total = mx::sqrt(mx::sum(mx::square(x)));
    mx::eval(total);
    return total.item<float>();
  };
  return size(mx::subtract(a, b)) / size(b);
}

/// How far the kernels' logits are from those of plain operations on the device and on the CPU: of
/// a prompt, and of steps after it.
void compare(const Json& config, int bits) {
  struct Logits {
    Array prompt, steps;
  };
  const auto of = [&](tensor::Execution execution) {
    auto loaded = models::load(RandomModel(config, bits).take(), "random", execution);
    Rows row(*loaded->model, execution == tensor::Execution::kernels, 1);
    const auto wide = [](const Array& x) { return mx::astype(x, mx::float32); };
    Logits found{wide(row.step(prompt_of(100, config["vocab_size"]), 100)), Array(0.0f)};
    mx::eval(found.prompt);
    std::vector<Array> steps;
    for (int i = 0; i < 20; ++i) {
      steps.push_back(wide(row.step(Array({3 + i}, {1, 1}, mx::int32), 1)));
      mx::eval(steps.back());
    }
    found.steps = mx::concatenate(steps, 0);
    mx::eval(found.steps);
    return found;
  };
  const auto plain = of(tensor::Execution::plain), ours = of(tensor::Execution::kernels);
  std::puts(fmt::format("compare bits={} with plain: prompt {:.5f} steps {:.5f}", bits,
                        relative(ours.prompt, plain.prompt), relative(ours.steps, plain.steps))
                .c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs(
        "usage: device_bench 1b|8b|small BITS kernels|plain|compare [rows] [context] [steps] "
        "[prompt]\n",
        stderr);
    return 2;
  }
  const auto whole = [&](int at, int other) { return argc > at ? std::atoi(argv[at]) : other; };
  const auto config = shape(argv[1]);
  const std::string mode = argv[3];
  if (mode == "compare") {
    compare(config, std::atoi(argv[2]));
    return 0;
  }
  const bool kernels = mode == "kernels";
  auto loaded = models::load(RandomModel(config, std::atoi(argv[2])).take(), "random",
                             kernels ? tensor::Execution::kernels : tensor::Execution::plain);
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return 1;
  }
  mx::clear_cache();
  const int prompt = whole(7, 2048);
  const auto start = std::chrono::steady_clock::now();
  const auto first = decode(*loaded->model, kernels, 1, 16, 4).per_second;
  std::puts(fmt::format("{} {} {} first_use={:.2f}s ({:.0f})", argv[1], argv[2], mode,
                        seconds_since(start), first)
                .c_str());
  for (const int rows : {1, whole(4, 32)}) {
    const auto speed = decode(*loaded->model, kernels, rows, whole(5, 128), whole(6, 64));
    std::puts(fmt::format("{} {} {} decode rows={} context={} tok/s={:.1f} submit={:.2f}ms",
                          argv[1], argv[2], mode, rows, whole(5, 128), speed.per_second,
                          speed.submit_ms)
                  .c_str());
    std::fflush(stdout);
  }
  if (prompt > 0) {
    std::puts(fmt::format("{} {} {} prefill={} tok/s={:.0f}", argv[1], argv[2], mode, prompt,
                          prefill(*loaded->model, kernels, prompt))
                  .c_str());
  }
  return 0;
}
