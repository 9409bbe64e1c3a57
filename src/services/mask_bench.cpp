// What constrained decoding costs: the step of a batch whose rows are held by a JSON schema against
// the step of the same prompts free, as many tokens each, taking turns. On a busy machine look at
// the processor time, which waiting does not blur: that of the whole process, and that of the masks
// alone, which their own thread hides behind the forward pass where a core is free.
//
// usage: mask_bench MODEL [rows] [tokens] [rounds]; prints one line of JSON
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/bench.h"
#include "services/chat/constraint.h"
#include "services/chat/prompt.h"
#include "services/chat/protocol.h"
#include "services/model.h"

namespace {

using namespace hearth;
using bench::cpu_seconds;
using bench::median;

constexpr const char* schema = R"({"type":"array","minItems":200,"items":{"type":"object",
    "properties":{"name":{"type":"string","maxLength":24},"kind":{"enum":["river","lake","sea"]},
      "length":{"type":"integer","minimum":0,"maximum":9999},
      "towns":{"type":"array","items":{"type":"string","maxLength":12},"maxItems":3}},
    "required":["name","kind","length","towns"],"additionalProperties":false}})";

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

/// A mask that counts its own processor time. Its calls come one at a time.
class TimedMask : public engine::TokenMask {
 public:
  TimedMask(std::shared_ptr<engine::TokenMask> mask, std::shared_ptr<double> seconds)
      : mask_(std::move(mask)), seconds_(std::move(seconds)) {}
  Result<engine::MaskWords> compute() override {
    const double began = thread_seconds();
    auto words = mask_->compute();
    *seconds_ += thread_seconds() - began;
    return words;
  }
  Result<void> accept(text::TokenId id) override {
    const double began = thread_seconds();
    auto taken = mask_->accept(id);
    *seconds_ += thread_seconds() - began;
    return taken;
  }
  bool complete() const override { return mask_->complete(); }

 private:
  const std::shared_ptr<engine::TokenMask> mask_;
  const std::shared_ptr<double> seconds_;
};

struct Times {
  double step_ms = 0, mask_ms = 0;  // of one step of all rows
};

engine::GenerateRequest job_of(const services::LoadedModel& model, int row, int tokens, bool held) {
  Json body{
      {"temperature", 0},
      {"messages",
       {{{"role", "user"},
         {"content", fmt::format("Tell me, as JSON, of river number {} and others.", row)}}}}};
  if (held) {
    body["response_format"] = {{"type", "json_schema"},
                               {"json_schema", {{"name", "n"}, {"schema", Json::parse(schema)}}}};
  }
  const auto request = services::openai_chat.parse(body, model.id).value();
  engine::GenerateRequest job;
  job.prompt = services::encode_input(model, request.input, {}).value();
  job.sampling.temperature = 0;
  job.max_tokens = tokens;
  const auto format = services::output_format(model, request, request.input, job.prompt);
  job.mask = services::answer_mask(model, request, request.input, format, {}).value();
  return job;
}

/// Times of a decoding step of `rows` rows at once; none when a row ended early.
std::optional<Times> step_times(const services::LoadedModel& model, int rows, int tokens,
                                bool held) {
  std::vector<engine::GenerateRequest> jobs;
  std::vector<std::shared_ptr<double>> masks;  // seconds of each row's
  for (int row = 0; row < rows; ++row) {
    jobs.push_back(job_of(model, row, tokens, held));
    if (!held) continue;
    masks.push_back(std::make_shared<double>(0));
    jobs.back().mask = std::make_shared<TimedMask>(std::move(jobs.back().mask), masks.back());
  }
  std::vector<std::shared_ptr<engine::TokenStream>> streams;
  for (auto& job : jobs) streams.push_back(model.submit(std::move(job)).value());
  double seconds = 0;
  for (const auto& stream : streams) {
    auto item = stream->pop();
    while (std::holds_alternative<engine::Sampled>(item)) item = stream->pop();
    const auto& end = std::get<engine::Finish>(item);
    if (end.error || end.usage.completion_tokens != tokens) return std::nullopt;
    seconds += end.usage.decode_seconds;
  }
  Times out{.step_ms = 1e3 * seconds / rows / (tokens - 1)};
  for (const auto& mask : masks) out.mask_ms += 1e3 * *mask / tokens;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: mask_bench MODEL [rows] [tokens] [rounds]\n", stderr);
    return 2;
  }
  const int rows = argc > 2 ? std::atoi(argv[2]) : 8;
  const int tokens = argc > 3 ? std::atoi(argv[3]) : 128;
  const int rounds = argc > 4 ? std::atoi(argv[4]) : 7;
  const auto model = services::load_model(argv[1], {.max_rows = rows});
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 1;
  }
  std::vector<double> free, held, masks, ratios, cpu_ratios;
  for (int i = -1; i < rounds; ++i) {  // the first round warms up
    const double cpu_0 = cpu_seconds();
    const auto a = step_times(**model, rows, tokens, false);
    const double cpu_1 = cpu_seconds();
    const auto b = step_times(**model, rows, tokens, true);
    const double cpu_2 = cpu_seconds();
    if (!a || !b) {
      std::fputs("an answer ended early: choose fewer tokens\n", stderr);
      return 1;
    }
    if (i < 0) continue;
    free.push_back(a->step_ms);
    held.push_back(b->step_ms);
    masks.push_back(b->mask_ms);
    ratios.push_back(b->step_ms / a->step_ms);
    cpu_ratios.push_back((cpu_2 - cpu_1) / (cpu_1 - cpu_0));
  }
  std::puts(
      fmt::format(
          "{{\"rows\":{},\"tokens\":{},\"rounds\":{},\"free_step_ms\":{:.3f},"
          "\"held_step_ms\":{:.3f},\"masks_cpu_ms\":{:.3f},\"ratio\":{:.3f},\"least_ratio\":{:.3f},"
          "\"most_ratio\":{:.3f},\"cpu_ratio\":{:.3f},\"least_cpu_ratio\":{:.3f},"
          "\"most_cpu_ratio\":{:.3f}}}",
          rows, tokens, rounds, median(free), median(held), median(masks), median(ratios),
          std::ranges::min(ratios), std::ranges::max(ratios), median(cpu_ratios),
          std::ranges::min(cpu_ratios), std::ranges::max(cpu_ratios))
          .c_str());
  return 0;
}
