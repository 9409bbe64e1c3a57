#include "engine/prompt_cache/block_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "base/file.h"
#include "engine/prompt_cache/testing.h"

namespace hearth::engine {
namespace {

class BlockFileTest : public testing::Test {
 protected:
  BlockFileTest() { fs::create_directories(folder_.path); }

  CachedBlock block_{.key = child_key(root_key(""), std::vector<TokenId>{1, 2, 3}),
                     .parent = root_key(""),
                     .tokens = {1, 2, 3},
                     .base = part_of(1000, 7)};
  const PartId id_{.key = block_.key, .part = Part::base};
  TestFolder folder_;
  const fs::path path_ = folder_.path / file_name(id_);
};

TEST_F(BlockFileTest, ComesBackAsItWas) {
  const auto written = write_block(path_, "space", block_, Part::base);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, fs::file_size(path_));
  const auto read = read_block(path_, "space", id_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->parent, block_.parent);
  EXPECT_EQ(read->tokens, block_.tokens);
  EXPECT_EQ(read->formats, (std::vector<std::string>{"fake", "fake"}));
  for (int i : {0, 1}) {
    EXPECT_TRUE(std::ranges::equal(read->layers[i], block_.base->layers[i]->bytes()));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path), {}), 1);
}

TEST_F(BlockFileTest, NamesAreReadBack) {
  EXPECT_EQ(parse_file_name(file_name(id_)), id_);
  const PartId tail{.key = block_.key, .part = Part::tail};
  EXPECT_EQ(parse_file_name(file_name(tail)), tail);
  for (const auto* name : {"", "index.sqlite", "00.base.hkv"}) EXPECT_FALSE(parse_file_name(name));
  EXPECT_FALSE(parse_file_name(file_name(id_) + ".tmp-12"));
}

TEST_F(BlockFileTest, EveryFlippedBitIsNoticed) {
  ASSERT_TRUE(write_block(path_, "space", block_, Part::base));
  const std::string good = *read_file(path_);
  for (std::size_t i = 0; i < good.size(); i += i < 60 ? 1 : 7) {
    std::string bad = good;
    bad[i] = char(bad[i] ^ (1 << (i % 8)));
    std::ofstream(path_, std::ios::binary) << bad;
    const auto read = read_block(path_, "space", id_);
    ASSERT_FALSE(read) << "byte " << i;
    EXPECT_EQ(read.error().code, ErrorCode::corrupt_file);
  }
}

TEST_F(BlockFileTest, EveryCutAndAddedByteIsNoticed) {
  ASSERT_TRUE(write_block(path_, "space", block_, Part::base));
  const std::string good = *read_file(path_);
  for (std::size_t length = 0; length < good.size(); length += 1 + length / 50) {
    std::ofstream(path_, std::ios::binary) << good.substr(0, length);
    EXPECT_FALSE(read_block(path_, "space", id_)) << length;
  }
  std::ofstream(path_, std::ios::binary) << good << 'x';
  EXPECT_FALSE(read_block(path_, "space", id_));
}

TEST_F(BlockFileTest, OtherModelsAndOtherBlocksAreRefused) {
  ASSERT_TRUE(write_block(path_, "space", block_, Part::base));
  EXPECT_FALSE(read_block(path_, "other", id_));
  EXPECT_FALSE(read_block(path_, "space", {.key = block_.parent, .part = Part::base}));
  EXPECT_FALSE(read_block(path_, "space", {.key = block_.key, .part = Part::tail}));
  EXPECT_EQ(read_block(folder_.path / "none", "space", id_).error().code, ErrorCode::not_found);
}

TEST_F(BlockFileTest, AFolderThatIsNotThereIsAnErrorWithItsReason) {
  const auto written = write_block(folder_.path / "no" / "x", "space", block_, Part::base);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::io);
  EXPECT_NE(written.error().message.find("No such file"), std::string::npos);
}

TEST_F(BlockFileTest, LeftOversAreThoseOfProcessesThatAreGone) {
  const auto name = file_name(id_) + ".tmp-";
  EXPECT_TRUE(is_left_over(name + std::to_string(::getpid())));  // of an earlier one of this id
  EXPECT_FALSE(is_left_over(name + std::to_string(::getppid())));
  EXPECT_FALSE(is_left_over(name));
  EXPECT_FALSE(is_left_over(file_name(id_)));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_left_over(name + std::to_string(child)));
}

}  // namespace
}  // namespace hearth::engine
