// Several engines in one process: each has its own thread, arrays and streams.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/tiny_model.h"

namespace hearth::engine {
namespace {

std::unique_ptr<Engine> load(const TinyModel& model, Tier tier = Tier::fast) {
  EngineOptions options;
  options.tier = tier;
  options.device = "cpu";
  auto engine = Engine::load(model.folder(), options);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

std::vector<TokenId> run(Engine& engine, std::vector<TokenId> prompt) {
  auto stream = engine.submit(
      {.prompt = std::move(prompt), .sampling = {.temperature = 0}, .max_tokens = 24});
  EXPECT_TRUE(stream) << stream.error().message;
  std::vector<TokenId> ids;
  for (auto item = (*stream)->pop(); !std::get_if<Finish>(&item); item = (*stream)->pop()) {
    ids.push_back(std::get<Sampled>(item).id);
  }
  return ids;
}

const std::vector<TokenId> prompts[] = {{1, 2, 3}, {4, 5, 6, 7, 8}, {9}};

TEST(Engines, TwoAtOnceAnswerAsEachAlone) {
  const TinyModel model;
  for (const Tier tier : {Tier::fast, Tier::l1}) {
    const auto one = load(model, tier), other = load(model, tier);
    std::vector<std::vector<TokenId>> alone;
    for (const auto& prompt : prompts) alone.push_back(run(*one, prompt));
    std::vector<std::jthread> clients;
    for (Engine* engine : {one.get(), other.get()}) {
      for (std::size_t i = 0; i < std::size(prompts); ++i) {
        clients.emplace_back([&alone, engine, i] {
          for (int round = 0; round < 5; ++round) EXPECT_EQ(run(*engine, prompts[i]), alone[i]);
        });
      }
    }
  }
}

TEST(Engines, OthersComeAndGoWhileOneAnswers) {
  const TinyModel model;
  const auto stays = load(model);
  const auto alone = run(*stays, prompts[0]);
  std::jthread client([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_EQ(run(*stays, prompts[0]), alone);
  });
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(run(*load(model), prompts[0]), alone);
    release_memory();
  }
}

#ifdef __linux__
std::ptrdiff_t threads() {
  namespace fs = std::filesystem;
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

TEST(Engines, AnEngineThatEndsTakesItsThreadsWithIt) {
  const TinyModel model;
  run(*load(model), prompts[0]);  // the kernels' own threads stay
  const auto before = threads();
  for (int i = 0; i < 5; ++i) run(*load(model), prompts[0]);
  for (int i = 0; i < 100 && threads() > before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(threads(), before);
}
#endif

}  // namespace
}  // namespace hearth::engine
