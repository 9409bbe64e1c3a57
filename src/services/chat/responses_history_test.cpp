// What a response goes on from: stored items, pages of them, what is left out when it is too long.
#include "services/chat/responses_history.h"

#include <gtest/gtest.h>

namespace hearth::services {
namespace {

void keep(ResponseStore& store) {
  store.put({.response = Json::parse(R"({"id":"resp_1","instructions":"Be kind.","output":[
      {"id":"rs_1","type":"reasoning","summary":[]},
      {"id":"msg_2","type":"message","role":"assistant","content":[
        {"type":"output_text","text":"Hello"}]}]})"),
             .input = listed_items("hi")});
}

TEST(History, goes_on_from_input_and_output_without_the_reasoning) {
  ResponseStore store;
  keep(store);
  const auto body =
      with_history(Json::parse(R"({"previous_response_id":"resp_1","input":"and then?"})"), store);
  ASSERT_TRUE(body) << body.error().message;
  ASSERT_EQ((*body)["input"].size(), 3u);
  EXPECT_EQ((*body)["input"][0]["content"][0]["text"], "hi");
  EXPECT_EQ((*body)["input"][1]["id"], "msg_2");
  EXPECT_EQ((*body)["input"][2], Json::parse(R"({"role":"user","content":"and then?"})"));
  EXPECT_EQ((*body)["instructions"], "Be kind.");
}

TEST(History, new_instructions_replace_and_new_items_follow) {
  ResponseStore store;
  keep(store);
  const auto body = with_history(Json::parse(R"({"previous_response_id":"resp_1",
      "instructions":"Be brief.","input":[{"role":"user","content":"x"}]})"),
                                 store);
  EXPECT_EQ((*body)["instructions"], "Be brief.");
  EXPECT_EQ((*body)["input"].back()["content"], "x");
}

TEST(History, wrong_types_come_before_the_lookup_and_an_unknown_id_is_named) {
  ResponseStore store;
  const auto error = [&](const char* body) {
    const auto result = with_history(Json::parse(body), store);
    return result ? Error{} : result.error();
  };
  EXPECT_EQ(error(R"({"previous_response_id":"resp_9","input":5})").param, "input");
  EXPECT_EQ(error(R"({"previous_response_id":{},"input":"x"})").code, ErrorCode::invalid_request);
  const Error unknown = error(R"({"previous_response_id":"resp_9","input":"x"})");
  EXPECT_EQ(unknown.code, ErrorCode::not_found);
  EXPECT_NE(unknown.message.find("resp_9"), std::string::npos);
}

TEST(History, listed_items_have_types_ids_and_parts) {
  const Json items = listed_items(Json::parse(R"([{"role":"user","content":"a"},
      {"role":"assistant","content":"b"},
      {"type":"function_call_output","call_id":"c","output":"d"}])"));
  EXPECT_EQ(items[0]["content"], Json::parse(R"([{"type":"input_text","text":"a"}])"));
  EXPECT_EQ(items[1]["content"],
            Json::parse(R"([{"type":"output_text","text":"b","annotations":[]}])"));
  EXPECT_TRUE(items[0]["id"].get<std::string>().starts_with("msg_"));
  EXPECT_TRUE(items[2]["id"].get<std::string>().starts_with("fco_"));
  EXPECT_EQ(items[2]["status"], "completed");
}

TEST(History, pages_run_from_the_newest_unless_asked_otherwise) {
  Json items = Json::array();
  for (const char* id : {"a", "b", "c"}) items.push_back({{"id", id}});
  const auto ids = [&](const char* query) {
    const auto page = item_page(items, query);
    if (!page) return page.error().param;
    std::string out;
    for (const Json& item : (*page)["data"]) out += item["id"].get<std::string>();
    return out + ((*page)["has_more"] == true ? "+" : "");
  };
  EXPECT_EQ(ids(""), "cba");
  EXPECT_EQ(ids("order=asc"), "abc");
  EXPECT_EQ(ids("order=asc&limit=2"), "ab+");
  EXPECT_EQ(ids("order=asc&limit=2&after=b"), "c");
  EXPECT_EQ(ids("order=up"), "order");
  EXPECT_EQ(ids("limit=0"), "limit");
  EXPECT_EQ(ids("limit=x"), "limit");
  EXPECT_EQ(ids("after=z"), "after");
}

TEST(History, truncation_drops_the_oldest_turns_whole) {
  const Json body = Json::parse(R"({"truncation":"auto","input":[
      {"role":"system","content":"s"},
      {"role":"user","content":"1"},{"type":"function_call","call_id":"c","name":"f"},
      {"type":"function_call_output","call_id":"c","output":"o"},
      {"role":"user","content":"2"},{"role":"assistant","content":"a"},
      {"role":"user","content":"3"}]})");
  const auto left = [&](std::size_t most, Json from) {
    const Json cut = truncated(std::move(from),
                               [most](const Json& tried) { return tried["input"].size() <= most; });
    std::string out;
    for (const Json& item : cut["input"]) {
      out += item.contains("content") ? item["content"].get<std::string>() : "-";
    }
    return out;
  };
  EXPECT_EQ(left(7, body), "s1--2a3");
  EXPECT_EQ(left(6, body), "s2a3");
  EXPECT_EQ(left(3, body), "s3");
  EXPECT_EQ(left(1, body), "s3") << "the last turn stays";
  Json untouched = body;
  untouched["truncation"] = "disabled";
  EXPECT_EQ(left(1, untouched), "s1--2a3");
}

}  // namespace
}  // namespace hearth::services
