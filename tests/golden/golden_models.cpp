#include "golden_models.h"

#include <cstdlib>
#include <stdexcept>

#include "base/file.h"
#include "mlx/io.h"

namespace hearth::golden {

namespace mx = mlx::core;

std::vector<GoldenModel> golden_models() {
  const char* root = std::getenv("HEARTH_GOLDEN");
  if (!root) throw std::runtime_error("HEARTH_GOLDEN is not set, expected the folder of fixtures");
  const fs::path folder = root;
  const auto manifest = read_json_file(folder / "manifest.json");
  if (!manifest) throw std::runtime_error(manifest.error().message);
  std::vector<GoldenModel> models;
  for (const auto& entry : manifest->at("models")) {
    GoldenModel model{.name = entry.at("name"),
                      .folder = folder / entry.at("folder").get<std::string>(),
                      .fast = entry.at("fast")};
    for (const auto& file : entry.at("fixtures")) {
      model.fixtures.push_back(folder / file.get<std::string>());
    }
    if (model.fixtures.empty()) throw std::runtime_error(model.name + " has no fixtures");
    models.push_back(std::move(model));
  }
  if (models.empty()) throw std::runtime_error(folder.string() + " lists no models");
  return models;
}

Fixture read_fixture(const fs::path& file) {
  auto tensors = mx::load_safetensors(file.string()).first;
  const auto ids = [&](const char* name) {
    auto array = mx::astype(tensors.at(name), mx::int32);
    mx::eval(array);
    return std::vector<engine::TokenId>(array.data<int>(), array.data<int>() + array.size());
  };
  auto logits = tensors.at("logits");
  mx::eval(logits);
  return {file.stem().string(), ids("prompt"), ids("chunk").front(), ids("greedy"), logits};
}

}  // namespace hearth::golden
