#include "tensor/gguf_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tensor/gguf.h"
#include "tensor/test_gguf.h"

namespace hearth::tensor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The error of opening a file of these bytes; its message is "" if it opens.
Error error_of(const std::string& bytes) {
  const ScratchFolder folder;
  const auto path = folder.write("x.gguf", bytes);
  const auto file = GgufFile::open(path);
  if (file) return {};
  EXPECT_THAT(file.error().message, HasSubstr(path.string()));
  return file.error();
}

std::string corruption(const GgufBytes& file) {
  const Error error = error_of(file.bytes());
  if (!error.message.empty()) {
    EXPECT_EQ(error.code, ErrorCode::corrupt_file) << error.message;
  }
  return error.message;
}

std::string array_of(Meta type, std::uint64_t count, std::string_view values) {
  return raw(static_cast<std::uint32_t>(type)) + raw(count) + std::string(values);
}

TEST(gguf_file, every_kind_of_value_is_read) {
  GgufBytes file;
  file.key("u8", Meta::u8, raw(std::uint8_t{200}))
      .key("i8", Meta::i8, raw(std::int8_t{-3}))
      .key("u16", Meta::u16, raw(std::uint16_t{60000}))
      .key("i16", Meta::i16, raw(std::int16_t{-300}))
      .key("u32", Meta::u32, raw(std::uint32_t{4000000000}))
      .key("i32", Meta::i32, raw(std::int32_t{-70000}))
      .key("u64", Meta::u64, raw(~std::uint64_t{0}))
      .key("i64", Meta::i64, raw(std::int64_t{-5000000000}))
      .key("f32", Meta::f32, raw(0.25f))
      .key("f64", Meta::f64, raw(0.1))
      .key("yes", Meta::boolean, raw(std::uint8_t{1}))
      .key("text", Meta::string, gguf_string("naïve"))
      .key("empty", Meta::array, array_of(Meta::string, 0, ""))
      .key("nested", Meta::array,
           array_of(Meta::array, 2,
                    array_of(Meta::i8, 2, "\1\2") + array_of(Meta::string, 1, gguf_string("x"))));
  for (const std::uint32_t version : {2u, 3u}) {
    file.version = version;
    const ScratchFolder folder;
    const auto metadata = gguf_metadata(folder.write("x.gguf", file.bytes()));
    ASSERT_TRUE(metadata) << metadata.error().message;
    EXPECT_EQ(*metadata,
              Json::parse(R"({"u8":200,"i8":-3,"u16":60000,"i16":-300,"u32":4000000000,"i32":-70000,
                              "u64":18446744073709551615,"i64":-5000000000,"f32":0.25,"f64":0.1,
                              "yes":true,"text":"naïve","empty":[],"nested":[[1,2],["x"]]})"));
  }
}

TEST(gguf_file, tensors_lie_where_their_infos_say) {
  GgufBytes file;
  file.tensor("a", {3, 2}, f32, std::string(24, 'a')).tensor("b", {32}, q4_0, std::string(18, 'b'));
  const ScratchFolder folder;
  const auto opened = GgufFile::open(folder.write("x.gguf", file.bytes()));
  ASSERT_TRUE(opened) << opened.error().message;
  const GgufTensor& a = opened->tensors().at("a");
  EXPECT_EQ(a.shape, (std::vector<std::int64_t>{2, 3}));  // rows outermost
  EXPECT_EQ(a.rows(), 2);
  EXPECT_EQ(a.row_length(), 3);
  EXPECT_EQ(opened->bytes_of(a).size(), 24u);
  EXPECT_EQ(opened->bytes_of(a)[23], 'a');
  EXPECT_EQ(opened->bytes_of(opened->tensors().at("b")).size(), 18u);
  EXPECT_EQ(opened->bytes_of(opened->tensors().at("b"))[0], 'b');
}

TEST(gguf_file, a_vocabulary_without_tensors_opens) {
  EXPECT_EQ(corruption(GgufBytes().text("general.architecture", "llama")), "");
}

TEST(gguf_file, another_alignment_is_followed) {
  GgufBytes file;
  file.alignment = 64;
  file.number("general.alignment", 64).tensor("a", {1}, f32, "aaaa").tensor("b", {1}, f32, "bbbb");
  const ScratchFolder folder;
  const auto opened = GgufFile::open(folder.write("x.gguf", file.bytes()));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->tensors().at("b").offset - opened->tensors().at("a").offset, 64u);
  EXPECT_EQ(opened->bytes_of(opened->tensors().at("b"))[0], 'b');
}

TEST(gguf_file, a_cut_file_is_incomplete_wherever_it_is_cut) {
  GgufBytes file;
  file.text("general.architecture", "llama")
      .key("list", Meta::array, array_of(Meta::string, 2, gguf_string("a") + gguf_string("bc")))
      .tensor("t", {3, 2}, f32, std::string(24, 'x'));
  const std::string whole = file.bytes();
  ASSERT_EQ(error_of(whole).message, "");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Error error = error_of(whole.substr(0, size));
    EXPECT_EQ(error.code, ErrorCode::corrupt_file) << size;
    EXPECT_THAT(error.message,
                AllOf(HasSubstr("incomplete"), HasSubstr(fmt::format("{} bytes", size))));
  }
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 1)).message,
              AllOf(HasSubstr("tensor t"), HasSubstr(fmt::format("expected {}", whole.size()))));
}

TEST(gguf_file, other_files_and_versions_are_refused) {
  GgufBytes file;
  file.magic = 0x12345678;
  EXPECT_THAT(corruption(file), HasSubstr("does not start with 'GGUF'"));
  file = {};
  for (const auto& [version, words] :
       {std::pair{1u, "version 1"}, {4u, "version 4"}, {0x03000000u, "big-endian"}}) {
    file.version = version;
    const Error error = error_of(file.bytes());
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    EXPECT_THAT(error.message, HasSubstr(words));
  }
}

TEST(gguf_file, absurd_counts_are_refused_before_anything_is_allocated) {
  const auto counts = [](std::uint64_t tensors, std::uint64_t keys) {
    return error_of(raw(std::uint32_t{0x46554747}) + raw(std::uint32_t{3}) + raw(tensors) +
                    raw(keys) + std::string(64, '\0'))
        .message;
  };
  EXPECT_THAT(counts(~0ull, 0), HasSubstr("18446744073709551615 tensors"));
  EXPECT_THAT(counts(0, ~0ull), HasSubstr("18446744073709551615 metadata keys"));
  EXPECT_THAT(counts(0, 16000), HasSubstr("metadata key"));
  EXPECT_THAT(counts(1'000'000, 0), HasSubstr("tensor"));
  const auto list = [](Meta type, std::uint64_t count) {
    return corruption(GgufBytes().key("list", Meta::array, array_of(type, count, "1234567")));
  };
  EXPECT_THAT(list(Meta::u8, 8), AllOf(HasSubstr("key list"), HasSubstr("an array of 8 values")));
  EXPECT_THAT(list(Meta::u64, ~0ull), HasSubstr("key list"));
  EXPECT_THAT(list(Meta::string, std::uint64_t{1} << 61), HasSubstr("key list"));
  EXPECT_THAT(list(Meta::array, std::uint64_t{1} << 60), HasSubstr("key list"));
  EXPECT_THAT(corruption(GgufBytes().key("s", Meta::string, raw(~0ull))), HasSubstr("key s"));
}

TEST(gguf_file, unknown_types_and_deep_arrays_are_refused) {
  EXPECT_THAT(corruption(GgufBytes().key("k", static_cast<Meta>(13), "")),
              AllOf(HasSubstr("key k"), HasSubstr("unknown value type 13")));
  EXPECT_THAT(corruption(GgufBytes().key("k", Meta::array, array_of(static_cast<Meta>(99), 1, ""))),
              HasSubstr("unknown type 99"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += array_of(Meta::array, 1, "");
  EXPECT_THAT(corruption(GgufBytes().key("k", Meta::array, deep + array_of(Meta::u8, 0, ""))),
              HasSubstr("nested more than"));
}

TEST(gguf_file, names_are_given_once) {
  EXPECT_THAT(corruption(GgufBytes().number("k", 1).number("k", 2)),
              AllOf(HasSubstr("key k"), HasSubstr("twice")));
  EXPECT_THAT(corruption(GgufBytes().tensor("t", {1}, f32, "xxxx").tensor("t", {1}, f32, "xxxx")),
              AllOf(HasSubstr("tensor t"), HasSubstr("twice")));
}

TEST(gguf_file, lies_in_tensor_infos_are_named) {
  const auto info = [](std::vector<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset) {
    return corruption(
        GgufBytes().info("blk.0.x", std::move(dims), type, offset).data(std::string(96, 'd')));
  };
  EXPECT_EQ(info({24}, f32, 0), "");
  EXPECT_THAT(info({}, f32, 0), HasSubstr("tensor blk.0.x: has 0 dimensions"));
  EXPECT_THAT(info({1, 1, 1, 1, 1}, f32, 0), HasSubstr("has 5 dimensions"));
  EXPECT_THAT(info({0}, f32, 0), HasSubstr("a dimension of 0"));
  EXPECT_THAT(info({std::uint64_t{1} << 31}, f32, 0), HasSubstr("a dimension of 2147483648"));
  EXPECT_THAT(info({~0ull}, f32, 0), HasSubstr("a dimension of"));
  const std::uint64_t big = (1u << 31) - 1;
  EXPECT_THAT(info({big, big, big}, f32, 0), HasSubstr("more than any file"));
  EXPECT_THAT(info({big, 1u << 20}, f32, 0), HasSubstr("incomplete"));
  EXPECT_THAT(info({24}, 4, 0), HasSubstr("unknown type 4"));
  EXPECT_THAT(info({24}, ~0u, 0), HasSubstr("unknown type 4294967295"));
  EXPECT_THAT(info({33}, q4_0, 0), HasSubstr("rows of 33 weights, expected a multiple of 32"));
  EXPECT_THAT(info({1}, f32, 8), HasSubstr("its offset 8 is no multiple of 32"));
  EXPECT_THAT(info({1}, f32, 96), HasSubstr("incomplete"));
  EXPECT_THAT(info({1}, f32, std::uint64_t{1} << 63), HasSubstr("beyond what any file holds"));
  EXPECT_THAT(info({1}, f32, ~0ull - 31), HasSubstr("tensor blk.0.x"));
}

TEST(gguf_file, overlapping_tensors_are_named) {
  const auto second = [](std::uint64_t offset) {
    return corruption(
        GgufBytes().info("a", {16}, f32, 0).info("b", {8}, f32, offset).data(std::string(96, 'd')));
  };
  EXPECT_EQ(second(64), "");
  EXPECT_THAT(second(32), AllOf(HasSubstr("tensor b"), HasSubstr("overlaps a")));
  EXPECT_THAT(second(0), HasSubstr("overlaps"));
}

TEST(gguf_file, alignments_that_are_none_are_refused) {
  for (const std::uint32_t alignment : {0u, 1u, 4u, 33u, 48u, 1u << 31}) {
    EXPECT_THAT(corruption(GgufBytes().number("general.alignment", alignment)),
                HasSubstr("general.alignment"));
  }
  EXPECT_THAT(corruption(GgufBytes().text("general.alignment", "32")),
              HasSubstr("general.alignment"));
}

TEST(gguf_file, no_mutation_of_a_file_crashes_the_import) {
  GgufBytes file;
  file.text("general.architecture", "llama")
      .number("llama.block_count", 1)
      .number("llama.context_length", 64)
      .number("llama.embedding_length", 32)
      .number("llama.feed_forward_length", 32)
      .number("llama.attention.head_count", 2)
      .real("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .key("tokenizer.ggml.tokens", Meta::array, array_of(Meta::string, 1, gguf_string("a")))
      .tensor("token_embd.weight", {32, 4}, q4_0, std::string(72, '\x11'))
      .tensor("blk.0.attn_q.weight", {32, 32}, 8, std::string(32 * 34, '\x11'))
      .tensor("output_norm.weight", {32}, f32, std::string(128, '\0'));
  const std::string good = file.bytes();
  const std::size_t header = file.header().size();
  const ScratchFolder folder;
  ASSERT_TRUE(load_gguf(folder.write("x.gguf", good)))
      << load_gguf(folder.path() / "x.gguf").error().message;
  std::mt19937 random(20240918);
  int loaded = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (unsigned i = 0, n = 1 + random() % 3; i < n; ++i) {
      const auto at = random() % header;
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = "\0\1\x7f\x80\xff"[random() % 5];
          break;
        case 2:
          bytes.insert(at, 1 + random() % 8, '\0');
          break;
        case 3:
          bytes.erase(at, 1 + random() % 8);
          break;
      }
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const auto model = load_gguf(folder.write("x.gguf", bytes));
    if (!model) {
      EXPECT_TRUE(model.error().code == ErrorCode::corrupt_file ||
                  model.error().code == ErrorCode::unsupported)
          << model.error().message;
      continue;
    }
    ++loaded;
  }
  EXPECT_GT(loaded, 0);  // a changed name or number may still be a model
}

}  // namespace
}  // namespace hearth::tensor
