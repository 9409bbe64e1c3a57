#include "tensor/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tensor/test_files.h"

namespace hearth::tensor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A file of one U8 tensor of 4 bytes.
std::string shard(std::string_view tensor) {
  return safetensors_bytes(
      fmt::format(R"({{"{}":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}}})", tensor), "data");
}

std::string index(std::initializer_list<std::pair<std::string, std::string>> entries) {
  Json map = Json::object();
  for (const auto& [tensor, file] : entries) map[tensor] = file;
  return Json{{"metadata", Json::object()}, {"weight_map", map}}.dump();
}

/// A folder of three shards with an index; tests break it in one place.
struct Model : ScratchFolder {
  Model() {
    write("config.json", R"({"model_type": "llama"})");
    for (int i = 1; i <= 3; ++i) write(name(i), shard(fmt::format("t{}", i)));
    write("model.safetensors.index.json",
          index({{"t1", name(1)}, {"t2", name(2)}, {"t3", name(3)}}));
  }
  static std::string name(int i) { return fmt::format("model-{:05}-of-00003.safetensors", i); }
  void remove(const std::string& file) const { fs::remove(path() / file); }
  Error error() const {
    const auto loaded = load_checkpoint(path());
    return loaded ? Error{.message = "it loaded"} : loaded.error();
  }
};

TEST(checkpoint, a_sharded_folder_loads_whole) {
  const Model model;
  const auto loaded = load_checkpoint(model.path());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config["model_type"], "llama");
  EXPECT_EQ(loaded->tensors.size(), 3u);
  EXPECT_EQ(loaded->bytes, 12u);
  EXPECT_EQ(std::string_view(loaded->tensors.at("t2").data<char>(), 4), "data");
  EXPECT_TRUE(loaded->notes.empty());
}

TEST(checkpoint, without_an_index_every_model_file_loads) {
  const Model model;
  model.remove("model.safetensors.index.json");
  model.write("optiq_vision.safetensors", "not of the language model");
  const auto loaded = load_checkpoint(model.path());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->tensors.size(), 3u);
}

TEST(checkpoint, a_missing_shard_is_named) {
  const Model model;
  model.remove(Model::name(2));
  EXPECT_EQ(model.error().code, ErrorCode::not_found);
  EXPECT_THAT(model.error().message, AllOf(HasSubstr(Model::name(2)), HasSubstr("incomplete")));
  model.remove("model.safetensors.index.json");
  EXPECT_EQ(model.error().code, ErrorCode::not_found);
  EXPECT_THAT(model.error().message, AllOf(HasSubstr(Model::name(2)), HasSubstr("incomplete")));
}

TEST(checkpoint, a_cut_or_empty_shard_is_named) {
  const Model model;
  for (const std::size_t size : {0u, 40u}) {
    model.write(Model::name(2), shard("t2").substr(0, size));
    EXPECT_EQ(model.error().code, ErrorCode::corrupt_file);
    EXPECT_THAT(model.error().message, AllOf(HasSubstr(Model::name(2)), HasSubstr("incomplete")));
  }
}

TEST(checkpoint, a_renamed_shard_is_missed) {
  const Model model;
  fs::rename(model.path() / Model::name(3), model.path() / "model-3.safetensors");
  EXPECT_THAT(model.error().message, AllOf(HasSubstr(Model::name(3)), HasSubstr("incomplete")));
}

TEST(checkpoint, leftovers_beside_a_whole_set_do_not_matter) {
  const Model model;
  model.write("model-00002-of-00003.safetensors.part", "half");
  model.write("model.safetensors.incomplete", "half");
  EXPECT_EQ(model.error().message, "it loaded");
}

TEST(checkpoint, a_download_that_did_not_finish_is_incomplete) {
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors.incomplete", "half");
  const auto loaded = load_checkpoint(folder.path());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::corrupt_file);
  EXPECT_THAT(loaded.error().message,
              AllOf(HasSubstr("model.safetensors.incomplete"), HasSubstr("did not finish")));
}

TEST(checkpoint, a_tensor_that_the_index_promises_must_be_there) {
  const Model model;
  model.write("model.safetensors.index.json",
              index({{"t1", Model::name(1)}, {"t2", Model::name(1)}}));
  EXPECT_EQ(model.error().code, ErrorCode::corrupt_file);
  EXPECT_THAT(model.error().message, AllOf(HasSubstr("tensor t2"), HasSubstr(Model::name(1))));
}

TEST(checkpoint, a_tensor_in_two_shards_is_refused) {
  const Model model;
  model.write(Model::name(3), shard("t1"));
  model.remove("model.safetensors.index.json");
  EXPECT_EQ(model.error().code, ErrorCode::corrupt_file);
  EXPECT_THAT(model.error().message, HasSubstr("tensor t1 is in another shard too"));
}

TEST(checkpoint, an_index_cannot_point_outside_the_folder) {
  const Model model;
  for (const char* name :
       {"../model.safetensors", "/etc/passwd", "", ".", "..", "a/b.safetensors"}) {
    model.write("model.safetensors.index.json", index({{"t1", name}}));
    EXPECT_EQ(model.error().code, ErrorCode::corrupt_file) << name;
    EXPECT_THAT(model.error().message, HasSubstr("the shard of t1")) << name;
  }
}

TEST(checkpoint, an_index_of_another_form_is_refused) {
  const Model model;
  for (const char* text : {"", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {}})",
                           R"({"weight_map": {"t1": 3}})"}) {
    model.write("model.safetensors.index.json", text);
    EXPECT_EQ(model.error().code, ErrorCode::corrupt_file) << text;
    EXPECT_THAT(model.error().message, HasSubstr("index.json")) << text;
  }
}

TEST(checkpoint, config_json_must_be_an_object) {
  const Model model;
  for (const char* text : {"", "[1]", "{\"a\":"}) {
    model.write("config.json", text);
    EXPECT_EQ(model.error().code, ErrorCode::corrupt_file) << text;
    EXPECT_THAT(model.error().message, HasSubstr("config.json")) << text;
  }
  model.remove("config.json");
  EXPECT_EQ(model.error().code, ErrorCode::not_found);
}

TEST(checkpoint, a_path_that_holds_no_model_is_named) {
  const ScratchFolder folder;
  EXPECT_EQ(load_checkpoint(folder.path() / "none").error().code, ErrorCode::not_found);
  EXPECT_EQ(load_checkpoint(folder.write("x.bin", "")).error().code, ErrorCode::unsupported);
  folder.write("config.json", "{}");
  EXPECT_THAT(load_checkpoint(folder.path()).error().message, HasSubstr("no model*.safetensors"));
}

}  // namespace
}  // namespace hearth::tensor
