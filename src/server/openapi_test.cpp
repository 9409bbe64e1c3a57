#include "server/openapi.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace hearth::server {
namespace {

TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  std::set<std::string> served, described;
  for (const Route& route : routes()) {
    served.insert(fmt::format("{} {}", route.method, route.path));
  }
  for (const auto& [name, about] : route_descriptions()["routes"].items()) {
    described.insert(name);
    EXPECT_FALSE(about.value("summary", "").empty()) << name;
  }
  EXPECT_EQ(served, described);
}

void check_references(const Json& node, const Json& schemas) {
  if (node.is_object() && node.contains("$ref")) {
    const std::string target = node["$ref"];
    constexpr std::string_view prefix = "#/components/schemas/";
    ASSERT_TRUE(target.starts_with(prefix)) << target;
    EXPECT_TRUE(schemas.contains(target.substr(prefix.size()))) << target;
  }
  for (const auto& [key, child] : node.items()) {
    if (child.is_structured()) check_references(child, schemas);
  }
}

TEST(OpenApi, EveryReferenceHasItsSchema) {
  const Json document = openapi_document(routes());
  check_references(document, document["components"]["schemas"]);
}

TEST(OpenApi, TellsTheRangesOfSamplingOptions) {
  const Json document = openapi_document(routes());
  const Json& chat = document["components"]["schemas"]["ChatRequest"];
  EXPECT_EQ(chat["properties"]["top_p"]["maximum"], 1);
  EXPECT_EQ(chat["properties"]["max_tokens"]["minimum"], 1);
  EXPECT_FALSE(chat.contains("sampling"));
}

TEST(OpenApi, TellsWhereTimesAre) {
  const Json document = openapi_document(routes());
  const Json& answer = document["paths"]["/v1/chat/completions"]["post"]["responses"]["200"];
  EXPECT_TRUE(answer["headers"].contains("X-Hearth-Timings"));
  const Json& schemas = document["components"]["schemas"];
  EXPECT_EQ(schemas["ChatCompletion"]["properties"]["hearth"]["$ref"],
            "#/components/schemas/Timings");
  EXPECT_EQ(schemas["Timings"]["required"].size(), 4u);
}

TEST(OpenApi, NamesPathParameters) {
  const Json document = openapi_document(routes());
  ASSERT_TRUE(document["paths"].contains("/v1/models/{model_id}"));
  EXPECT_EQ(document["paths"]["/v1/models/{model_id}"]["get"]["parameters"][0]["name"], "model_id");
}

}  // namespace
}  // namespace hearth::server
