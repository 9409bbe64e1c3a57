#include "services/hub/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/hub/shard_header.h"
#include "services/hub/test_models.h"

namespace hearth::services::hub {
namespace {

using ::testing::HasSubstr;

TEST(Record, tells_what_config_and_headers_say) {
  const Scratch scratch;
  write_model(scratch.path);
  write_text(scratch.path / "tokenizer_config.json",
             R"({"chat_template": "{% if tools %}x{% endif %}"})");
  write_text(scratch.path / "README.md", "---\nlicense: other\nlicense_name: gemma\n---\n# x\n");
  const auto record = read_record(scratch.path);
  EXPECT_EQ(record.error, "");
  EXPECT_EQ(record.model_type, "llama");
  EXPECT_EQ(record.kind, "chat");
  EXPECT_EQ(record.param_count, 32);
  EXPECT_EQ(record.quantization(), "bfloat16");
  EXPECT_EQ(record.num_layers, 2);
  EXPECT_EQ(record.head_dim, 16);
  EXPECT_EQ(record.max_positions, 512);
  EXPECT_TRUE(record.has_chat_template);
  EXPECT_TRUE(record.has_tool_template);
  EXPECT_EQ(record.license, "gemma");
  EXPECT_EQ(record.kv_bytes(10), 10 * 2 * 2 * 16 * 2 * 2);  // layers, heads, width, K and V, bytes
}

TEST(Record, counts_the_weights_that_packed_words_stand_for) {
  const Scratch scratch;
  write_model(scratch.path);
  write_text(scratch.path / "config.json",
             R"({"model_type": "llama", "quantization": {"bits": 4, "group_size": 32,
                 "model.big": {"bits": 8, "group_size": 32}}})");
  write_shard(scratch.path / "model.safetensors",
              {{"model.w.weight", tensor_entry("U32", {2, 4}, 0, 32)},
               {"model.w.scales", tensor_entry("F16", {2, 1}, 32, 36)},
               {"model.w.biases", tensor_entry("F16", {2, 1}, 36, 40)},
               {"model.big.weight", tensor_entry("U32", {2, 8}, 40, 104)},
               {"model.big.scales", tensor_entry("F16", {2, 1}, 104, 108)},
               {"model.norm.weight", tensor_entry("F16", {6}, 108, 120)}},
              120);
  const auto record = read_record(scratch.path);
  EXPECT_EQ(record.error, "");
  EXPECT_EQ(record.param_count, 8 * 8 + 16 * 4 + 6);
  EXPECT_EQ(record.quantization(), "4-bit, group 32");
}

TEST(Record, kinds_come_from_type_and_files) {
  const Scratch scratch;
  const auto kind = [&](const char* name, const char* type, const char* extra) {
    write_model(scratch.path / name, type);
    if (extra != nullptr) write_text(scratch.path / name / extra, "{}");
    return read_record(scratch.path / name).kind;
  };
  EXPECT_EQ(kind("a", "llama", nullptr), "chat");
  EXPECT_EQ(kind("b", "whisper", nullptr), "whisper");
  EXPECT_EQ(kind("c", "bert", nullptr), "embedding");
  EXPECT_EQ(kind("d", "qwen3", "modules.json"), "embedding");
  EXPECT_EQ(kind("e", "gemma4", "dspark.json"), "drafter");
  EXPECT_EQ(kind("gemma-4-assistant", "gemma4", nullptr), "drafter");
}

TEST(Record, an_incomplete_folder_says_what_is_missing) {
  const Scratch scratch;
  const auto error = [&] { return read_record(scratch.path).error; };
  write_text(scratch.path / "config.json", R"({"model_type": "llama"})");
  EXPECT_THAT(error(), HasSubstr("incomplete: no model*.safetensors"));

  write_text(scratch.path / "model.safetensors.index.json",
             R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
  write_shard(scratch.path / "model-1.safetensors", {{"a", tensor_entry("F32", {2}, 0, 8)}}, 8);
  EXPECT_THAT(error(), ::testing::AllOf(HasSubstr("model-2.safetensors"), HasSubstr("incomplete")));

  write_shard(scratch.path / "model-2.safetensors", {{"b", tensor_entry("F32", {2}, 0, 8)}}, 8);
  EXPECT_EQ(error(), "");
  write_text(scratch.path / "model-2.safetensors.part", "left over");
  EXPECT_EQ(error(), "");
}

TEST(ShardHeader, refuses_what_does_not_fit_the_file) {
  const Scratch scratch;
  const fs::path file = scratch.path / "x.safetensors";
  const auto error = [&] {
    const auto header = read_shard_header(file);
    return header ? std::string("sound") : header.error().message;
  };
  EXPECT_THAT(error(), HasSubstr("incomplete"));
  write_text(file, "");
  EXPECT_THAT(error(), HasSubstr("incomplete: 0 bytes"));
  write_text(file, std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10));
  EXPECT_THAT(error(), HasSubstr("the header claims 18446744073709551615 bytes"));
  write_text(file, std::string("\x40\0\0\0\0\0\0\0{}", 10));
  EXPECT_THAT(error(), HasSubstr("incomplete: the header claims 64 bytes"));
  const Json cut = {{"a", tensor_entry("F32", {4}, 0, 16)}};
  write_shard(file, cut, 8);
  EXPECT_THAT(error(), HasSubstr("incomplete: a ends at byte 16 of the data, the file has 8"));
  write_shard(file,
              {{"a", tensor_entry("F32", {4}, 0, 16)}, {"b", tensor_entry("F32", {4}, 8, 24)}}, 24);
  EXPECT_THAT(error(), HasSubstr("b lies at bytes 8 to 24, expected to begin at 16"));
  const Json huge = {
      {"a", {{"dtype", "F32"}, {"shape", {1LL << 40, 1LL << 40}}, {"data_offsets", {0, 16}}}}};
  write_shard(file, huge, 16);
  EXPECT_THAT(error(), HasSubstr("a: the shape overflows"));
  write_shard(file, cut, 16);
  EXPECT_EQ(error(), "sound");
}

TEST(FolderStamp, changes_with_any_file) {
  const Scratch scratch;
  write_model(scratch.path);
  const auto before = folder_stamp(scratch.path);
  EXPECT_EQ(folder_stamp(scratch.path), before);
  fs::resize_file(scratch.path / "model.safetensors", 10);
  EXPECT_NE(folder_stamp(scratch.path), before);
}

}  // namespace
}  // namespace hearth::services::hub
