#include "services/hub/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::services::hub {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t gb = 1'000'000'000;

ModelRecord model(std::string id, std::int64_t size = gb, std::string kind = "chat") {
  ModelRecord record;
  record.path = "/models/" + id;
  record.repo_id = std::move(id);
  record.model_type = "llama";
  record.kind = std::move(kind);
  record.size_bytes = size;
  record.is_main = true;
  return record;
}

ModelRecord snapshot(std::string id, std::string revision, bool main, std::int64_t scanned) {
  auto record = model(std::move(id));
  record.path += "/" + revision;
  record.revision = std::move(revision);
  record.is_main = main;
  record.scanned_at = scanned;
  return record;
}

TEST(Canonical, main_wins_then_the_last_scanned_then_the_path) {
  const std::vector<ModelRecord> records{
      snapshot("a/x", "1", false, 9), snapshot("a/x", "2", true, 1),
      snapshot("a/y", "3", false, 1), snapshot("a/y", "4", false, 2),
      snapshot("a/z", "6", false, 1), snapshot("a/z", "5", false, 1)};
  const auto best = canonical(records);
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0].revision, "2");
  EXPECT_EQ(best[1].revision, "4");
  EXPECT_EQ(best[2].revision, "5");
}

TEST(Resolve, a_substring_of_id_or_type_in_any_case_finds_the_one_repository) {
  const std::vector<ModelRecord> records{model("org/SmolLM2-135M"), model("org/Qwen3-0.6B")};
  EXPECT_EQ(resolve(records, "smol")->repo_id, "org/SmolLM2-135M");
  EXPECT_EQ(resolve(records, "ORG/QWEN3-0.6B")->repo_id, "org/Qwen3-0.6B");
  EXPECT_FALSE(resolve(records, "llama"));  // both have that type
}

TEST(Resolve, an_exact_id_wins_over_longer_ones) {
  const std::vector<ModelRecord> records{model("org/a"), model("org/a-large")};
  EXPECT_EQ(resolve(records, "org/a")->repo_id, "org/a");
}

TEST(Resolve, snapshots_of_one_repository_are_one_match) {
  const std::vector<ModelRecord> records{snapshot("org/a", "111", true, 1),
                                         snapshot("org/a", "222", false, 2)};
  EXPECT_EQ(resolve(records, "a")->revision, "111");
  EXPECT_EQ(resolve(records, "org/a@22")->revision, "222");
  EXPECT_FALSE(resolve(records, "org/a@33"));
}

TEST(Resolve, drafters_never_match_and_chat_models_go_first) {
  const std::vector<ModelRecord> records{model("org/gemma-assistant", gb, "drafter"),
                                         model("org/gemma"),
                                         model("org/gemma-embed", gb, "embedding")};
  EXPECT_EQ(resolve(records, "gemma")->repo_id, "org/gemma");
  EXPECT_EQ(resolve(records, "embed")->repo_id, "org/gemma-embed");
  EXPECT_FALSE(resolve(records, "assistant"));
}

TEST(Resolve, several_matches_are_listed) {
  const auto found = resolve(std::vector{model("org/a1"), model("org/a2")}, "a");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::invalid_request);
  EXPECT_THAT(found.error().message, HasSubstr("org/a1  (1.00 GB"));
  EXPECT_THAT(found.error().message, HasSubstr("org/a2"));
}

TEST(Resolve, no_match_names_the_nearest_and_what_to_do) {
  const auto found = resolve(std::vector{model("org/SmolLM2-135M-Instruct")}, "smollm-135");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::not_found);
  EXPECT_THAT(found.error().message, HasSubstr("did you mean org/SmolLM2-135M-Instruct?"));
  EXPECT_THAT(found.error().message, HasSubstr("hearth scan"));
}

struct AutoPick : ::testing::Test {
  PickOptions options{.memory_bytes = 10 * gb, .supported = [](const ModelRecord& record) {
                        return record.model_type == "llama";
                      }};
  std::string pick(const std::vector<ModelRecord>& records) {
    const auto found = auto_pick(records, options);
    return found ? found->repo_id : "error: " + found.error().message;
  }
};

TEST_F(AutoPick, the_preferred_model_goes_first_when_it_fits) {
  EXPECT_EQ(pick({model("big", 5 * gb), model(options.preferred, 2 * gb)}), options.preferred);
  EXPECT_EQ(pick({model("big", 5 * gb), model(options.preferred, 8 * gb)}), "big");
}

TEST_F(AutoPick, else_the_largest_that_leaves_room_for_others) {
  EXPECT_EQ(pick({model("small", gb), model("fair", 6 * gb), model("tight", 7 * gb)}), "fair");
}

TEST_F(AutoPick, else_the_largest_that_fits_at_all) {
  EXPECT_EQ(pick({model("tight", 7 * gb), model("huge", 8 * gb)}), "tight");
}

TEST_F(AutoPick, its_context_must_fit_too) {
  auto wide = model("wide", 5 * gb);
  wide.num_layers = 100;
  wide.kv_heads = 64;
  wide.head_dim = 128;  // 8192 tokens of it: 26.8 GB
  EXPECT_EQ(pick({wide, model("small", gb)}), "small");
}

TEST_F(AutoPick, what_cannot_chat_or_run_is_never_picked) {
  auto unsupported = model("x");
  unsupported.model_type = "martian";
  auto broken = model("y");
  broken.error = "incomplete";
  EXPECT_THAT(pick({unsupported, broken, model("e", gb, "embedding"), model("w", gb, "whisper"),
                    model("d", gb, "drafter")}),
              HasSubstr("no chat model"));
}

TEST_F(AutoPick, when_none_fits_both_numbers_are_told) {
  EXPECT_THAT(pick({model("huge", 20 * gb)}), HasSubstr("huge, needs 18.63 GiB"));
  EXPECT_THAT(pick({model("huge", 20 * gb)}), HasSubstr("6.98 GiB are usable"));
}

}  // namespace
}  // namespace hearth::services::hub
