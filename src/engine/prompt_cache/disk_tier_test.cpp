#include "engine/prompt_cache/disk_tier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "engine/prompt_cache/testing.h"

namespace hearth::engine {
namespace {

using namespace std::chrono_literals;

CachedBlock block_of(TokenId id, std::size_t bytes = 1000) {
  return {.key = child_key(root_key(""), {&id, 1}),
          .parent = root_key(""),
          .tokens = {id},
          .end = 1,
          .base = part_of(bytes, static_cast<unsigned char>(id))};
}

PartId id_of(TokenId id) { return {.key = block_of(id).key, .part = Part::base}; }

class DiskTierTest : public testing::Test {
 protected:
  DiskTier::Settings settings(std::size_t max_bytes = 0) const {
    return {.folder = folder_.path, .space = "space", .max_bytes = max_bytes};
  }
  fs::path file(TokenId id) const { return folder_.path / "space" / file_name(id_of(id)); }

  static void write(DiskTier& tier, TokenId id, std::size_t bytes = 1000) {
    EXPECT_TRUE(tier.write(block_of(id, bytes), Part::base, tier.now()));
    EXPECT_TRUE(tier.drain(10s));
  }

  TestFolder folder_;
};

TEST_F(DiskTierTest, FindsAfterARestartWhatItWrote) {
  {
    DiskTier tier(settings());
    for (TokenId id : {1, 2, 3}) write(tier, id);
    EXPECT_TRUE(tier.has(id_of(2)));
    EXPECT_FALSE(tier.has(id_of(4)));
  }
  DiskTier tier(settings());
  EXPECT_EQ(tier.stats().entries, 3u);
  EXPECT_EQ(tier.stats().longest_prefix, 1);
  const auto read = tier.read(id_of(2));
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::ranges::equal(read->layers[0], block_of(2).base->layers[0]->bytes()));
}

TEST_F(DiskTierTest, TheFilesAreTheTruth) {
  {
    DiskTier tier(settings());
    for (TokenId id : {1, 2, 3}) write(tier, id);
  }
  fs::remove(file(1));
  fs::remove(folder_.path / "space" / "index.sqlite");
  std::ofstream(folder_.path / "space" / (file_name(id_of(9)) + ".tmp-999999999")) << "half";
  DiskTier tier(settings());
  EXPECT_FALSE(tier.has(id_of(1)));
  EXPECT_TRUE(tier.read(id_of(2)) && tier.read(id_of(3)));
  const auto files = std::distance(fs::directory_iterator(folder_.path / "space"), {});
  EXPECT_LE(files, 5);  // two blocks, the index and its log
}

TEST_F(DiskTierTest, ABrokenIndexIsMadeAnew) {
  {
    DiskTier tier(settings());
    for (TokenId id : {1, 2}) write(tier, id);
  }
  std::ofstream(folder_.path / "space" / "index.sqlite") << std::string(5000, 'x');
  DiskTier tier(settings());
  EXPECT_TRUE(tier.read(id_of(1)) && tier.read(id_of(2)));
  write(tier, 3);
  EXPECT_TRUE(fs::exists(folder_.path / "space" / "index.sqlite.broken"));
}

TEST_F(DiskTierTest, ABadFileIsDroppedAndWrittenAgain) {
  DiskTier tier(settings());
  write(tier, 1);
  std::string bytes = *read_file(file(1));
  bytes[bytes.size() - 5] ^= 1;
  std::ofstream(file(1), std::ios::binary) << bytes;
  EXPECT_FALSE(tier.read(id_of(1)));
  EXPECT_FALSE(tier.has(id_of(1)));
  EXPECT_FALSE(fs::exists(file(1)));
  EXPECT_EQ(tier.stats().bad_files, 1u);
  write(tier, 1);
  EXPECT_TRUE(tier.read(id_of(1)));
}

TEST_F(DiskTierTest, VerifyingFindsBadFilesAtTheStart) {
  {
    DiskTier tier(settings());
    for (TokenId id : {1, 2}) write(tier, id);
  }
  std::string bytes = *read_file(file(1));
  bytes.back() ^= 4;
  std::ofstream(file(1), std::ios::binary) << bytes;
  auto verifying = settings();
  verifying.verify = true;
  DiskTier tier(verifying);
  for (int i = 0; i < 500 && tier.has(id_of(1)); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(tier.has(id_of(1)));
  EXPECT_TRUE(tier.has(id_of(2)));
}

TEST_F(DiskTierTest, TheOldestFilesLeaveUnderTheLimit) {
  DiskTier tier(settings(5000));
  for (TokenId id : {1, 2, 3}) write(tier, id);
  const PartId first = id_of(1);
  tier.touch({&first, 1});
  for (TokenId id : {4, 5}) write(tier, id);
  EXPECT_TRUE(tier.has(id_of(1)));
  EXPECT_FALSE(tier.has(id_of(2)));
  EXPECT_TRUE(tier.has(id_of(5)));
  EXPECT_LE(tier.stats().bytes, 5000u);
  EXPECT_FALSE(fs::exists(file(2)));
  write(tier, 6, 9000);  // never fits
  EXPECT_FALSE(tier.has(id_of(6)));
}

TEST_F(DiskTierTest, AllModelsOfAFolderShareItsLimit) {
  const auto bytes_in = [&](const char* space) {
    std::size_t sum = 0;
    for (const auto& file : fs::directory_iterator(folder_.path / space)) {
      if (file.path().extension() == ".hkv") sum += file.file_size();
    }
    return sum;
  };
  auto other = settings(5000);
  other.space = "other";
  {
    DiskTier tier(other);
    for (TokenId id : {1, 2, 3}) write(tier, id);
  }
  const auto file_of_other = [&](TokenId id) {
    return folder_.path / "other" / file_name(id_of(id));
  };
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(file_of_other(2), now - std::chrono::hours(2));
  fs::last_write_time(file_of_other(1), now - std::chrono::hours(1));
  fs::last_write_time(file_of_other(3), now + std::chrono::hours(1));
  std::ofstream(folder_.path / "other" / "a.note") << "somebody's";
  DiskTier tier(settings(5000));
  EXPECT_FALSE(tier.has(id_of(1)));
  for (TokenId id : {4, 5}) write(tier, id);
  EXPECT_FALSE(fs::exists(file_of_other(2)));  // the one that was used longest ago
  EXPECT_TRUE(fs::exists(file_of_other(3)));
  for (TokenId id = 6; id < 12; ++id) write(tier, id);
  EXPECT_FALSE(fs::exists(file_of_other(1)));
  EXPECT_TRUE(fs::exists(file_of_other(3)));
  EXPECT_TRUE(fs::exists(folder_.path / "other" / "a.note"));
  EXPECT_TRUE(tier.has(id_of(11)));
  EXPECT_LE(bytes_in("other") + bytes_in("space"), 5000u);
}

TEST_F(DiskTierTest, WhatAnotherModelDeletedIsComputedAgain) {
  DiskTier tier(settings());
  write(tier, 1);
  fs::remove(file(1));
  EXPECT_FALSE(tier.read(id_of(1)));
  EXPECT_FALSE(tier.has(id_of(1)));
  EXPECT_EQ(tier.stats().bad_files, 0u);
}

TEST_F(DiskTierTest, AFolderThatCannotBeUsedIsDoneWithout) {
  std::ofstream(folder_.path) << "a file";
  DiskTier tier(settings());
  EXPECT_FALSE(tier.write(block_of(1), Part::base, tier.now()));
  EXPECT_FALSE(tier.has(id_of(1)));
  EXPECT_FALSE(tier.read(id_of(1)));
  EXPECT_TRUE(tier.drain(1s));
  EXPECT_EQ(tier.stats().failed_spills, 1u);
}

TEST_F(DiskTierTest, WithoutAnIndexTheFilesAreReadAndNothingIsWritten) {
  {
    DiskTier tier(settings());
    write(tier, 1);
  }
  const auto index = folder_.path / "space" / "index.sqlite";
  fs::remove(index);
  fs::create_directory(index);  // cannot be opened, as on a full or read-only disk
  DiskTier tier(settings());
  EXPECT_TRUE(tier.read(id_of(1)));
  EXPECT_FALSE(tier.write(block_of(2), Part::base, tier.now()));
  EXPECT_FALSE(fs::exists(file(2)));
  EXPECT_TRUE(fs::is_directory(index));  // only a damaged one is set aside
}

TEST_F(DiskTierTest, AFolderThatGoesAwayPausesIt) {
  DiskTier tier(settings());
  write(tier, 1);
  fs::remove_all(folder_.path);
  tier.write(block_of(2), Part::base, tier.now());
  tier.drain(10s);
  EXPECT_FALSE(tier.has(id_of(2)));
  EXPECT_FALSE(tier.write(block_of(3), Part::base, tier.now()));
  EXPECT_FALSE(tier.read(id_of(1)));
  EXPECT_EQ(tier.stats().failed_spills, 2u);
}

TEST_F(DiskTierTest, TooMuchAtOnceIsDroppedAndCounted) {
  auto small = settings();
  small.queue_bytes = 3000;
  DiskTier tier(small);
  int taken = 0;
  for (TokenId id = 0; id < 200; ++id) taken += tier.write(block_of(id), Part::base, tier.now());
  EXPECT_TRUE(tier.drain(20s));
  const auto stats = tier.stats();
  EXPECT_EQ(stats.entries, std::size_t(taken));
  EXPECT_EQ(stats.dropped_spills, std::uint64_t(200 - taken));
  EXPECT_EQ(stats.pending_spill_bytes, 0u);
}

}  // namespace
}  // namespace hearth::engine
