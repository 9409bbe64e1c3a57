#include "services/pool/catalog.h"

#include <gtest/gtest.h>

namespace hearth::services {
namespace {

CatalogModel entry(std::string id, std::vector<std::string> names) {
  CatalogModel model;
  model.id = std::move(id);
  model.names = std::move(names);
  return model;
}

const std::vector<CatalogModel> two{entry("house", {"org/a", "a-4bit"}), entry("org/b", {})};

TEST(Catalog, AModelAnswersToItsIdAndItsOtherNames) {
  for (const char* name : {"house", "org/a", "a-4bit", "house:latest", "a-4bit:latest"}) {
    EXPECT_EQ(find_model(two, name), 0u) << name;
  }
  EXPECT_EQ(find_model(two, "org/b"), 1u);
  EXPECT_EQ(find_model(two, "org/b:latest"), 1u);
}

TEST(Catalog, LocalIsTheFirst) {
  EXPECT_EQ(find_model(two, "local"), 0u);
  EXPECT_EQ(find_model(two, "local:latest"), 0u);
  EXPECT_EQ(find_model({}, "local"), std::nullopt);
}

TEST(Catalog, NothingElseIsAName) {
  for (const char* name : {"", ":latest", "b", "ORG/B", "org/b/", "../org/b", "org/b:4bit"}) {
    EXPECT_EQ(find_model(two, name), std::nullopt) << name;
  }
}

TEST(Catalog, AnEmptyNameOfAFolderIsNoName) {
  EXPECT_EQ(find_model(std::vector{entry("a", {""})}, ""), std::nullopt);
}

}  // namespace
}  // namespace hearth::services
