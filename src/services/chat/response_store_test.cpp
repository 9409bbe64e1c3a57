// The store of responses: lookup, age, bound.
#include "services/chat/response_store.h"

#include <gtest/gtest.h>

namespace hearth::services {
namespace {

using std::chrono::seconds;

StoredResponse answer(const std::string& id, std::size_t size = 10) {
  return {.response = {{"id", id}, {"text", std::string(size, 'x')}}, .input = Json::array()};
}

TEST(ResponseStore, finds_what_was_put_and_forgets_what_was_erased) {
  ResponseStore store;
  store.put(answer("a"));
  ASSERT_TRUE(store.find("a"));
  EXPECT_EQ(store.find("a")->response["id"], "a");
  EXPECT_FALSE(store.find("b"));
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(store.erase("a"));
  EXPECT_FALSE(store.find("a"));
  EXPECT_EQ(store.stats()["bytes"], 0);
}

TEST(ResponseStore, an_answer_lives_its_time_from_creation_however_often_it_is_read) {
  ResponseStore::Clock::time_point now{};
  ResponseStore store({.bytes = 1000, .life = seconds(60)}, [&] { return now; });
  store.put(answer("a"));
  now += seconds(59);
  EXPECT_TRUE(store.find("a"));
  now += seconds(1);
  EXPECT_FALSE(store.find("a"));
  EXPECT_EQ(store.stats()["expired"], 1);
  EXPECT_EQ(store.stats()["entries"], 0);
}

TEST(ResponseStore, the_least_recently_used_leaves_first) {
  ResponseStore store({.bytes = 420, .life = seconds(60)});
  store.put(answer("a", 100));
  store.put(answer("b", 100));
  store.put(answer("c", 100));
  EXPECT_TRUE(store.find("a"));
  store.put(answer("d", 100));
  EXPECT_TRUE(store.find("a"));
  EXPECT_FALSE(store.find("b"));
  EXPECT_TRUE(store.find("c"));
  EXPECT_TRUE(store.find("d"));
  EXPECT_LE(store.stats()["bytes"], 420);
  EXPECT_EQ(store.stats()["evicted"], 1);
}

TEST(ResponseStore, what_is_larger_than_the_bound_is_not_kept_and_pushes_nothing_out) {
  ResponseStore store({.bytes = 200, .life = seconds(60)});
  store.put(answer("a", 50));
  store.put(answer("huge", 1000));
  EXPECT_FALSE(store.find("huge"));
  EXPECT_TRUE(store.find("a"));
}

TEST(ResponseStore, the_same_id_again_replaces) {
  ResponseStore store;
  store.put(answer("a", 10));
  const Json once = store.stats()["bytes"];
  store.put(answer("a", 10));
  EXPECT_EQ(store.stats()["bytes"], once);
  EXPECT_EQ(store.stats()["entries"], 1);
}

}  // namespace
}  // namespace hearth::services
