#include "tensor/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "tensor/test_files.h"

namespace hearth::tensor {
namespace {

namespace mx = mlx::core;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A file of one tensor "w".
std::string one(std::string_view dtype, std::string_view shape, std::string_view data) {
  return safetensors_bytes(
      fmt::format(R"({{"w":{{"dtype":"{}","shape":{},"data_offsets":[0,{}]}}}})", dtype, shape,
                  data.size()),
      data);
}

/// The message of opening a file of these bytes; "" if it opens.
std::string complaint(std::string_view bytes) {
  const ScratchFolder folder;
  const auto path = folder.write("x.safetensors", bytes);
  const auto file = SafetensorsFile::open(path);
  if (file) return "";
  EXPECT_EQ(file.error().code, ErrorCode::corrupt_file) << file.error().message;
  EXPECT_THAT(file.error().message, HasSubstr(path.string()));
  return file.error().message;
}

std::string header_complaint(std::string_view header, std::string_view data = "") {
  return complaint(safetensors_bytes(header, data));
}

template <class T>
void expect_round_trip(std::string_view name, mx::Dtype dtype) {
  std::string data;
  for (int i = 0; i < 6; ++i) data += raw(static_cast<T>(i * 37 + 1));
  const ScratchFolder folder;
  auto file = SafetensorsFile::open(folder.write("x.safetensors", one(name, "[2,3]", data)));
  ASSERT_TRUE(file) << file.error().message;
  auto array = file->array("w");
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->dtype(), dtype);
  EXPECT_EQ(array->shape(), (mx::Shape{2, 3}));
  EXPECT_EQ(std::string_view(array->data<char>(), data.size()), data) << name;
}

TEST(safetensors, every_dtype_keeps_its_bytes) {
  expect_round_trip<std::uint8_t>("U8", mx::uint8);
  expect_round_trip<std::int8_t>("I8", mx::int8);
  expect_round_trip<std::uint16_t>("U16", mx::uint16);
  expect_round_trip<std::int16_t>("I16", mx::int16);
  expect_round_trip<std::uint16_t>("F16", mx::float16);
  expect_round_trip<std::uint16_t>("BF16", mx::bfloat16);
  expect_round_trip<std::uint32_t>("U32", mx::uint32);
  expect_round_trip<std::int32_t>("I32", mx::int32);
  expect_round_trip<float>("F32", mx::float32);
  expect_round_trip<std::uint64_t>("U64", mx::uint64);
  expect_round_trip<std::int64_t>("I64", mx::int64);
  expect_round_trip<double>("C64", mx::complex64);
}

TEST(safetensors, bools_and_scalars_and_empty_tensors_load) {
  const ScratchFolder folder;
  auto file = SafetensorsFile::open(
      folder.write("x.safetensors",
                   safetensors_bytes(R"({"b":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]},)"
                                     R"("s":{"dtype":"F32","shape":[],"data_offsets":[4,8]},)"
                                     R"("e":{"dtype":"F32","shape":[0,7],"data_offsets":[8,8]}})",
                                     std::string("\1\0\1\1", 4) + raw(2.5f))));
  ASSERT_TRUE(file) << file.error().message;
  const auto bools = file->array("b").value();
  EXPECT_TRUE(bools.data<bool>()[0]);
  EXPECT_FALSE(bools.data<bool>()[1]);
  EXPECT_EQ(file->array("s").value().item<float>(), 2.5f);
  EXPECT_EQ(file->array("e").value().shape(), (mx::Shape{0, 7}));
}

TEST(safetensors, f64_becomes_float32) {
  const ScratchFolder folder;
  auto file = SafetensorsFile::open(
      folder.write("x.safetensors", one("F64", "[2]", raw(0.1) + raw(-1e300))));
  ASSERT_TRUE(file) << file.error().message;
  const auto array = file->array("w").value();
  EXPECT_EQ(array.dtype(), mx::float32);
  EXPECT_EQ(array.data<float>()[0], 0.1f);
  EXPECT_EQ(array.data<float>()[1], -std::numeric_limits<float>::infinity());
}

TEST(safetensors, eight_bit_floats_are_refused_by_name) {
  const ScratchFolder folder;
  auto file = SafetensorsFile::open(folder.write("x.safetensors", one("F8_E4M3", "[2]", "ab")));
  ASSERT_TRUE(file) << file.error().message;
  const auto array = file->array("w");
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, ErrorCode::unsupported);
  EXPECT_THAT(array.error().message, AllOf(HasSubstr("tensor w"), HasSubstr("F8_E4M3")));
}

TEST(safetensors, a_view_outlives_its_file_object_and_feeds_the_graph) {
  const ScratchFolder folder;
  const auto path = folder.write("x.safetensors", one("F32", "[2]", raw(1.0f) + raw(2.0f)));
  std::optional<Array> array;
  {
    auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file);
    array = file->array("w").value();
  }
  fs::remove(path);
  Array sum = mx::sum(mx::multiply(*array, Array(3.0f)));
  EXPECT_EQ(sum.item<float>(), 9.0f);
}

TEST(safetensors, misaligned_tensors_are_copied) {
  const ScratchFolder folder;
  // 3 bytes of padding in front: the floats start at an odd address.
  const std::string header = R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[3,11]}})";
  auto file = SafetensorsFile::open(
      folder.write("x.safetensors", safetensors_bytes(header, "abc" + raw(1.5f) + raw(-4.0f))));
  ASSERT_TRUE(file) << file.error().message;
  const auto array = file->array("b").value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data<float>()) % alignof(float), 0u);
  EXPECT_EQ(array.data<float>()[0], 1.5f);
  EXPECT_EQ(array.data<float>()[1], -4.0f);
}

TEST(safetensors, opening_reads_no_data) {
  const ScratchFolder folder;
  const std::uint64_t size = std::uint64_t{1} << 33;  // 8 GiB of hole
  std::string header = fmt::format(
      R"({{"w":{{"dtype":"F32","shape":[{},1024],"data_offsets":[0,{}]}}}})", size / 4096, size);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const auto path = folder.write("x.safetensors", safetensors_bytes(header, ""));
  fs::resize_file(path, fs::file_size(path) + size);
  const auto start = std::chrono::steady_clock::now();
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().message;
  const auto array = file->array("w");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
  ASSERT_TRUE(array);
  EXPECT_EQ(array->nbytes(), size);
}

TEST(safetensors, metadata_is_read) {
  const ScratchFolder folder;
  auto file = SafetensorsFile::open(folder.write(
      "x.safetensors", safetensors_bytes(R"({"__metadata__":{"format":"mlx","a":"b"}})", "")));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"a", "b"}, {"format", "mlx"}}));
}

TEST(safetensors, unknown_fields_are_skipped) {
  EXPECT_EQ(header_complaint(R"({"w":{"dtype":"U8","note":{"deep":[{"x":[1,null]}]},"n":1.5,)"
                             R"("shape":[1],"data_offsets":[0,1]}})",
                             "a"),
            "");
}

TEST(safetensors, a_cut_file_is_incomplete_wherever_it_is_cut) {
  const std::string whole = one("F32", "[2,3]", std::string(24, 'x'));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(complaint(whole.substr(0, size)),
                AllOf(HasSubstr("incomplete"), HasSubstr(fmt::format("has {} bytes", size))));
  }
  EXPECT_EQ(complaint(whole), "");
  EXPECT_THAT(complaint(whole.substr(0, whole.size() - 1)),
              AllOf(HasSubstr(fmt::format("expected {}", whole.size())), HasSubstr("tensor w")));
  EXPECT_THAT(complaint(whole + "!"), HasSubstr("1 bytes follow the last tensor"));
}

TEST(safetensors, a_bad_header_length_is_refused) {
  for (const std::uint64_t length : {0ull, 1ull, 100'000'001ull, ~0ull, 1ull << 63}) {
    EXPECT_THAT(complaint(raw(length) + std::string(64, ' ')), HasSubstr("header claims"));
  }
}

TEST(safetensors, headers_of_another_form_are_refused) {
  const std::pair<const char*, const char*> cases[] = {
      {"  ", "not JSON"},
      {"{\"w\"", "not JSON"},
      {"{}}", "not JSON"},
      {"[]", "array"},
      {"12", "not a JSON object"},
      {"\"x\"", "not a JSON object"},
      {"{\"w\":3}", "where an object is expected"},
      {"{\"w\":[]}", "array"},
      {"{\"w\":{}}", "tensor w: dtype is missing"},
      {"{\"\xff\":{}}", "not JSON"},
      {R"({"w":{"dtype":"U8"}})", "tensor w: shape is missing"},
      {R"({"w":{"dtype":"U8","shape":[1]}})", "tensor w: data_offsets is missing"},
      {R"({"w":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", "tensor w: dtype has 7"},
      {R"({"w":{"dtype":null,"shape":[1],"data_offsets":[0,1]}})", "tensor w: dtype has null"},
      {R"({"w":{"dtype":["U8"],"shape":[1],"data_offsets":[0,1]}})", "tensor w: an array"},
      {R"({"w":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", "tensor w: shape has 1"},
      {R"({"w":{"dtype":"U8","shape":{},"data_offsets":[0,1]}})", "tensor w: an object"},
      {R"({"w":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", "tensor w: an array"},
      {R"({"w":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "tensor w: shape has -1"},
      {R"({"w":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", "tensor w: shape has 1.0"},
      {R"({"w":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})",
       "tensor w: shape has a string"},
      {R"({"w":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1]}})", "tensor w"},
      {R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", "fewer than 2"},
      {R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", "more than 2"},
      {R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,-1]}})", "data_offsets has -1"},
      {R"({"w":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       "dtype is given twice"},
      {R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
       R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
       "the name w is used twice"},
      {R"({"__metadata__":{"a":1}})", "__metadata__"},
      {R"({"__metadata__":{"a":{}}})", "object"},
      {R"({"__metadata__":7})", "object is expected"},
  };
  for (const auto& [header, words] : cases) {
    EXPECT_THAT(header_complaint(header), HasSubstr(words)) << header;
  }
}

TEST(safetensors, deep_nesting_neither_crashes_nor_loads) {
  EXPECT_NE(header_complaint(std::string(1'000'000, '[')), "");
  EXPECT_NE(header_complaint(R"({"w":{"x":)" + std::string(1'000'000, '[')), "");
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += R"({"a":)";
  EXPECT_NE(header_complaint(objects), "");
}

TEST(safetensors, lies_about_dtype_shape_and_offsets_are_named) {
  const auto entry = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return header_complaint(
        fmt::format(R"({{"a.b":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                    offsets),
        "12345678");
  };
  EXPECT_THAT(entry("F99", "[2]", "[0,8]"), HasSubstr("tensor a.b has the unknown dtype 'F99'"));
  EXPECT_THAT(entry("F32", "[3]", "[0,8]"),
              HasSubstr("tensor a.b has 8 bytes, expected 12 for F32 [3]"));
  EXPECT_THAT(entry("F16", "[2,1]", "[0,8]"), HasSubstr("expected 4 for F16 [2, 1]"));
  EXPECT_THAT(entry("F32", "[2]", "[8,0]"), HasSubstr("its end before its start"));
  EXPECT_THAT(entry("F32", "[3000000000]", "[0,8]"), HasSubstr("a dimension of 3000000000"));
  EXPECT_THAT(entry("F32", "[2147483647,2147483647,2147483647]", "[0,8]"),
              HasSubstr("more than any file"));
  // 2^31 · 2^31 · 4 = 2^64 wraps to 0.
  EXPECT_THAT(entry("F32", "[1073741824,1073741824,16]", "[0,0]"), HasSubstr("tensor a.b"));
  EXPECT_THAT(entry("F4", "[3]", "[0,8]"), HasSubstr("ends within a byte"));
  EXPECT_THAT(entry("U8", "[8]", "[18446744073709551608,18446744073709551615]"),
              HasSubstr("tensor a.b"));
  EXPECT_THAT(entry("U8", "[7]", "[1,8]"), HasSubstr("a gap before it"));
  std::string many = "[8";
  for (int i = 0; i < 32; ++i) many += ",1";
  EXPECT_THAT(entry("U8", many + "]", "[0,8]"), HasSubstr("tensor a.b has 33 dimensions"));
}

TEST(safetensors, overlaps_and_gaps_between_tensors_are_named) {
  const auto two = [](int begin, int end) {
    return header_complaint(
        fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},)"
                    R"("b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                    end - begin, begin, end),
        "12345678");
  };
  EXPECT_EQ(two(4, 8), "");
  EXPECT_THAT(two(3, 8),
              HasSubstr("tensor b starts at byte 3 of the data, expected 4 (it overlaps"));
  EXPECT_THAT(two(0, 8), HasSubstr("overlaps"));
  EXPECT_THAT(two(5, 8),
              HasSubstr("tensor b starts at byte 5 of the data, expected 4 (there is a gap"));
  EXPECT_THAT(two(4, 9), HasSubstr("incomplete"));
}

TEST(safetensors, a_folder_or_a_missing_file_is_no_corruption) {
  const ScratchFolder folder;
  EXPECT_EQ(SafetensorsFile::open(folder.path()).error().code, ErrorCode::io);
  EXPECT_EQ(SafetensorsFile::open(folder.path() / "none").error().code, ErrorCode::not_found);
}

TEST(safetensors, a_hundred_thousand_names_are_read_in_linear_time) {
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    header += fmt::format(R"({}"t{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                          i ? "," : "", i);
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(header_complaint(header + "}"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

/// Changes a few bytes, cuts, or repeats a stretch.
std::string mutate(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t i = 0, n = 1 + below(4); i < n && !bytes.empty(); ++i) {
    const std::size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = "0123456789[]{},:\"-"[below(18)];
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(16)));
        break;
    }
  }
  return bytes;
}

TEST(safetensors, no_mutation_of_a_file_crashes_or_reads_outside) {
  const std::string good = safetensors_bytes(
      R"({"__metadata__":{"format":"mlx"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[16,24]},)"
      R"("c":{"dtype":"U8","shape":[3],"data_offsets":[24,27]}})",
      std::string(27, 'd'));
  ASSERT_EQ(complaint(good), "");
  const ScratchFolder folder;
  std::mt19937 random(20240917);
  int opened = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto path = folder.write("x.safetensors", mutate(good, random));
    auto file = SafetensorsFile::open(path);
    if (!file) {
      EXPECT_EQ(file.error().code, ErrorCode::corrupt_file) << file.error().message;
      continue;
    }
    ++opened;
    for (const auto& [name, entry] : file->entries()) {
      const auto array = file->array(name);
      if (!array) continue;
      unsigned sum = 0;
      for (std::size_t i = 0; i < array->nbytes(); ++i) sum += array->data<std::uint8_t>()[i];
      EXPECT_LE(sum, 255u * array->nbytes());
    }
  }
  EXPECT_GT(opened, 0);  // some mutations leave a good file
}

}  // namespace
}  // namespace hearth::tensor
