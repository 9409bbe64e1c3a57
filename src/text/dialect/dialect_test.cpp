#include <gtest/gtest.h>

#include <algorithm>

#include "text/dialect/dialect_writer.h"
#include "text/dialect/dialects.h"
#include "text/dialect/lenient_json.h"

namespace hearth::text {
namespace {

const ToolSet tools{testing::test_tools()};

/// Whether `text` has got as far as an opening; before that no reader is asked.
bool opened(const Dialect& dialect, std::string_view text) {
  const auto starts = [&](auto opening) { return text.starts_with(opening); };
  return dialect.openings.empty() || std::ranges::any_of(dialect.openings, starts) ||
         std::ranges::any_of(dialect.first_openings, starts);
}

/// The calls at the head of `text`, one scan after another with what may stand between.
std::vector<ParsedCall> read_all(const Dialect& dialect, std::string_view text,
                                 Ending ending = Ending::ended) {
  std::vector<ParsedCall> calls;
  for (;;) {
    auto rest = text;
    for (bool again = true; again;) {
      again = false;
      rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
      for (const auto tail : dialect.tails) {
        if (calls.empty() || !rest.starts_with(tail)) continue;
        rest.remove_prefix(tail.size());
        again = true;
      }
    }
    if (!opened(dialect, rest)) return calls;
    auto scan = dialect.scan(rest, tools, ending);
    if (scan.kind != Scan::Kind::calls) return calls;
    std::ranges::move(scan.calls, std::back_inserter(calls));
    text = rest.substr(scan.size);
  }
}

ParsedCall only(const Dialect& dialect, std::string_view text) {
  const auto calls = read_all(dialect, text);
  EXPECT_EQ(calls.size(), 1u) << text;
  return calls.empty() ? ParsedCall{} : calls[0];
}

TEST(Dialects, are_named_and_complete) {
  for (const Dialect* d : all_dialects()) {
    EXPECT_FALSE(d->name.empty());
    EXPECT_FALSE(d->signs.empty()) << d->name;
    EXPECT_FALSE(d->closings.empty()) << d->name;
    EXPECT_NE(d->scan, nullptr) << d->name;
    EXPECT_EQ(std::ranges::count(all_dialects(), d->name, &Dialect::name), 1) << d->name;
  }
}

TEST(Dialects, what_their_data_writes_their_reader_reads) {
  const Json arguments = Json::parse(
      R"({"path":"a b/c.txt","count":-3,"all":true,"tags":["x","y z"],"where":{"k":{"n":1.5}}})");
  for (const Dialect* d : all_dialects()) {
    const auto text = testing::write_calls(*d, {{"read", arguments}, {"stat", Json::object()}});
    const auto calls = read_all(*d, text);
    ASSERT_EQ(calls.size(), 2u) << d->name << ": " << text;
    EXPECT_EQ(calls[0].name, "read") << d->name;
    EXPECT_EQ(Json::parse(calls[0].arguments), arguments) << d->name << ": " << text;
    EXPECT_EQ(calls[1].name, "stat") << d->name;
    EXPECT_EQ(calls[1].arguments, "{}") << d->name;
  }
}

TEST(Dialects, a_call_cut_anywhere_is_never_another_call) {
  const Json arguments = Json::parse(R"({"path":"abc","count":12})");
  for (const Dialect* d : all_dialects()) {
    const auto text = testing::write_calls(*d, {{"read", arguments}});
    for (std::size_t n = 1; n < text.size(); ++n) {
      for (const Ending ending : {Ending::open, Ending::cut}) {
        for (const auto& call : read_all(*d, text.substr(0, n), ending)) {
          EXPECT_EQ(call.name, "read") << d->name;
          EXPECT_EQ(Json::parse(call.arguments), arguments) << d->name << ": " << text.substr(0, n);
        }
      }
    }
  }
}

TEST(Dialects, what_a_reader_says_holds_for_every_longer_text) {
  const Json arguments = Json::parse(R"({"path":"a","count":1,"tags":["t"]})");
  for (const Dialect* d : all_dialects()) {
    for (const std::string& text :
         {testing::write_calls(*d, {{"read", arguments}, {"stat", Json::object()}}),
          testing::write_calls(*d, {{"nope", arguments}, {"stat", Json::object()}})}) {
      const auto whole = d->scan(text, tools, Ending::open);
      for (std::size_t n = 1; n < text.size(); ++n) {
        if (!opened(*d, std::string_view(text).substr(0, n))) continue;
        const auto part = d->scan(text.substr(0, n), tools, Ending::open);
        if (part.kind == Scan::Kind::more) continue;
        EXPECT_EQ(part.kind, whole.kind) << d->name << ": " << text.substr(0, n);
        EXPECT_EQ(part.size, whole.size) << d->name << ": " << text.substr(0, n);
        EXPECT_EQ(part.calls, whole.calls) << d->name << ": " << text.substr(0, n);
      }
    }
  }
}

TEST(Dialects, a_name_that_is_no_tool_is_no_call) {
  for (const Dialect* d : all_dialects()) {
    const auto text = testing::write_calls(*d, {{"nope", Json{{"path", "x"}}}});
    EXPECT_EQ(d->scan(text, tools, Ending::ended).kind, Scan::Kind::broken) << d->name;
  }
}

TEST(Dialects, prose_after_an_opening_is_soon_known_to_be_no_call) {
  EXPECT_EQ(qwen_xml.scan("<function=\nis how it starts", tools, Ending::open).kind,
            Scan::Kind::more);
  EXPECT_EQ(qwen_xml.scan("<function=is how\nit starts", tools, Ending::open).kind,
            Scan::Kind::broken);
  EXPECT_EQ(glm.scan("<tool_call>\nread", tools, Ending::open).kind, Scan::Kind::more);
  EXPECT_EQ(glm.scan("<tool_call> is a marker.\nIt", tools, Ending::open).kind, Scan::Kind::broken);
}

struct Sample {
  const Dialect* dialect;
  std::string_view text;
  std::string_view name, arguments;
};

TEST(Dialects, read_what_their_models_write) {
  const Sample samples[] = {
      {&hermes, "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
       "read", R"({"path": "a"})"},
      {&hermes,
       "<tool_call>{\"arguments\":{\"path\":\"</tool_call>\"},\"name\":\"read\"}</tool_call>",
       "read", R"({"path":"</tool_call>"})"},
      {&hermes, R"(<tool_call>{"name":"read","arguments":"{\"count\":2}"}</tool_call>)", "read",
       R"({"count":2})"},
      {&qwen_xml,
       "<tool_call>\n<function=read>\n<parameter=path>\na\nb\n</parameter>\n<parameter=count>\n7\n"
       "</parameter>\n<parameter=note>\n2025\n</parameter>\n</function>\n</tool_call>",
       "read", R"({"path":"a\nb","count":7,"note":"2025"})"},
      {&qwen_xml, "<function=stat>\n</function>\n</tool_call>", "stat", "{}"},
      {&minicpm,
       "<function name=\"read\"><param name=\"path\"><![CDATA[a</param>&lt;]]></param>"
       "<param name=\"note\">1 &lt; 2 &amp;&amp; 3</param></function>",
       "read", R"({"path":"a</param>&lt;","note":"1 < 2 && 3"})"},
      {&minimax,
       "<minimax:tool_call>\n<invoke name=\"read\">\n<parameter name=\"path\">a</parameter>\n"
       "<parameter name=\"tags\">[\"x\"]</parameter>\n</invoke>\n</minimax:tool_call>",
       "read", R"({"path":"a","tags":["x"]})"},
      {&glm,
       "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>12</arg_value>\n"
       "<arg_key>count</arg_key>\n<arg_value>12</arg_value>\n</tool_call>",
       "read", R"({"path":"12","count":12})"},
      {&glm, "<tool_call>stat</tool_call>", "stat", "{}"},
      {&gemma,
       "<|tool_call>call:read{path:<|\"|>a, {b}<|\"|>,count:3,tags:[<|\"|>x<|\"|>],"
       "where:{k:true}}<tool_call|>",
       "read", R"({"path":"a, {b}","count":3,"tags":["x"],"where":{"k":true}})"},
      {&function_gemma, "<start_function_call>call:read{path:<escape>a<escape>}<end_function_call>",
       "read", R"({"path":"a"})"},
      {&llama3, R"({"name": "read", "parameters": {"path": "a"}})", "read", R"({"path": "a"})"},
      {&llama3, R"(<|python_tag|>{"type": "function", "name": "stat", "parameters": {}})", "stat",
       "{}"},
      {&llama3, R"(<|python_tag|>get_weather.call(path="Paris"))", "get_weather",
       R"({"path":"Paris"})"},
      {&llama_pythonic, "[get_weather(path='it\\'s', all=True, note=None)]", "get_weather",
       R"({"path":"it's","all":true,"note":null})"},
      {&llama_pythonic, "<|python_start|>[stat()]<|python_end|>", "stat", "{}"},
      {&lfm, "<|tool_call_start|>[read(path=\"a\", tags=[\"x\"])]<|tool_call_end|>", "read",
       R"({"path":"a","tags":["x"]})"},
      {&lfm, R"(<|tool_call_start|>[{"name":"read","arguments":{"path":"a"}}]<|tool_call_end|>)",
       "read", R"({"path":"a"})"},
      {&mistral, R"([TOOL_CALLS] [{"name": "read", "arguments": {"path": "a"}}])", "read",
       R"({"path":"a"})"},
      {&mistral, R"([TOOL_CALLS]read[CALL_ID]abc[ARGS]{"path": "a"})", "read", R"({"path": "a"})"},
      {&mistral_named, R"([TOOL_CALLS]read[ARGS]{"path": "a"})", "read", R"({"path": "a"})"},
      {&deepseek,
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"path\":"
       "\"a\"}"
       "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       "read", R"({"path":"a"})"},
      {&deepseek_v31,
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{\"path\":\"a\"}"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       "read", R"({"path":"a"})"},
      {&deepseek_dsml,
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read\">\n<｜DSML｜parameter name=\"path\" "
       "string=\"true\">7</｜DSML｜parameter>\n<｜DSML｜parameter name=\"count\" string=\"false\">7"
       "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
       "read", R"({"path":"7","count":7})"},
      {&kimi,
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
       "{\"path\":\"a\"}<|tool_call_end|><|tool_calls_section_end|>",
       "read", R"({"path":"a"})"},
      {&granite, R"(<|tool_call|>[{"name":"read","arguments":{"path":"a"}}])", "read",
       R"({"path":"a"})"},
      {&command_r,
       "<|START_ACTION|>[\n {\"tool_call_id\": \"0\", \"tool_name\": \"read\", \"parameters\": "
       "{\"path\": \"a\"}}\n]<|END_ACTION|>",
       "read", R"({"path":"a"})"},
      {&harmony,
       "<|channel|>commentary to=functions.read "
       "<|constrain|>json<|message|>{\"path\":\"a\"}<|call|>",
       "read", R"({"path":"a"})"},
      {&harmony, "<|start|>assistant to=functions.stat<|channel|>commentary json<|message|>{}",
       "stat", "{}"},
  };
  for (const auto& s : samples) {
    const auto call = only(*s.dialect, s.text);
    EXPECT_EQ(call.name, s.name) << s.text;
    EXPECT_EQ(call.arguments, s.arguments) << s.text;
  }
}

TEST(Dialects, the_ids_that_models_give_are_kept) {
  EXPECT_EQ(only(mistral, R"([TOOL_CALLS] [{"name":"stat","arguments":{},"id":"a1b2c3d4e"}])").id,
            "a1b2c3d4e");
  EXPECT_EQ(only(mistral, "[TOOL_CALLS]stat[CALL_ID]xyz[ARGS]{}").id, "xyz");
  EXPECT_EQ(
      only(kimi,
           "<|tool_call_begin|>functions.stat:4<|tool_call_argument_begin|>{}<|tool_call_end|>")
          .id,
      "functions.stat:4");
}

TEST(Hermes, mends_what_is_nearly_json) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"name":"read","arguments":{"path":"\d+\.log"}})", R"({"path":"\\d+\\.log"})"},
      {R"({'name':'read','arguments':{'path':'x'}})", R"({"path":"x"})"},
      {R"({"name":"read","arguments":{"path":"x",},})", R"({"path":"x"})"},
      {R"({"name":"read","arguments":{"path":"x"})", R"({"path":"x"})"},
      {R"({"name":"read","arguments":{"all":True,"note":None}})", R"({"all":true,"note":null})"},
      {"```json\n{\"name\":\"read\",\"arguments\":{}}\n```", "{}"},
      {R"(I will call {"name":"read","arguments":{'count':1}})", R"({"count":1})"},
      {R"({"arguments":{"name":"read","path":"x"}})", R"({"path":"x"})"},
      {R"({"read":{"path":"x"}})", R"({"path":"x"})"},
      {"{\"name\":\"read\",\"arguments\":{\"path\":\"two\nlines\"}}", R"({"path":"two\nlines"})"},
      {R"({"name":"functions.read","parameters":{"path":"x"}})", R"({"path":"x"})"},
  };
  for (const auto& [body, arguments] : cases) {
    const auto call = only(hermes, "<tool_call>" + std::string(body) + "</tool_call>");
    EXPECT_EQ(call.name, "read") << body;
    EXPECT_EQ(call.arguments, arguments) << body;
  }
}

TEST(Hermes, what_cannot_be_mended_is_no_call) {
  for (const std::string body : {"not json at all", "", "{}", "[]", R"({"name":"read"} and more)",
                                 R"({"name":"read","arguments":[1]})", R"({"name":7})",
                                 R"({"name":"nope","arguments":{}})"}) {
    EXPECT_EQ(hermes.scan("<tool_call>" + body + "</tool_call>", tools, Ending::open).kind,
              Scan::Kind::broken)
        << body;
  }
}

TEST(Hermes, a_call_that_is_cut_off_is_none_and_one_that_only_lacks_its_closing_is) {
  const std::string_view text = R"(<tool_call>{"name":"read","arguments":{"path":"abc"}})";
  EXPECT_EQ(read_all(hermes, text, Ending::cut).size(), 1u) << "its JSON is whole";
  EXPECT_EQ(read_all(hermes, text.substr(0, text.size() - 1), Ending::cut).size(), 0u);
  EXPECT_EQ(read_all(hermes, text.substr(0, text.size() - 1), Ending::ended).size(), 1u);
  EXPECT_EQ(read_all(hermes, text.substr(0, text.size() - 4), Ending::ended).size(), 0u)
      << "a string has no end";
}

TEST(FindDialect, by_the_template_then_the_family_then_hermes) {
  EXPECT_EQ(find_dialect("{{ '<tool_call>' }} name", "llama3").name, "hermes");
  EXPECT_EQ(find_dialect("<tool_call>\n<function=a>\n<parameter=b>", "hermes").name, "qwen_xml");
  EXPECT_EQ(find_dialect("<tool_call>{name}\n<arg_key>{k}</arg_key>\n<arg_value>", "").name, "glm");
  EXPECT_EQ(find_dialect("[TOOL_CALLS] [", "llama3").name, "mistral");
  EXPECT_EQ(find_dialect("[TOOL_CALLS]f[ARGS]{}", "").name, "mistral_named");
  EXPECT_EQ(find_dialect("<|channel|>analysis<|message|>", "").name, "harmony");
  EXPECT_EQ(find_dialect("nothing to see", "llama3").name, "llama3");
  EXPECT_EQ(find_dialect("", "none").name, "hermes");
}

TEST(ToolSet, values_follow_the_schema) {
  const ToolSet set(Json::parse(R"([{"type":"function","function":{"name":"f","parameters":{
    "$defs":{"word":{"type":"string"}},
    "properties":{"s":{"type":"string"},"n":{"type":"integer"},"o":{"type":["string","null"]},
      "e":{"enum":["1","2"]},"a":{"anyOf":[{"type":"string"},{"type":"null"}]},
      "m":{"anyOf":[{"type":"string"},{"type":"integer"}]},"r":{"$ref":"#/$defs/word"},
      "loop":{"$ref":"#/properties/loop"},"free":{}}}}}])"));
  for (const char* key : {"s", "o", "e", "a", "r"}) EXPECT_EQ(set.value("f", key, "1"), "1") << key;
  for (const char* key : {"n", "m", "free", "loop", "unknown"}) {
    EXPECT_EQ(set.value("f", key, "1"), 1) << key;
  }
  EXPECT_EQ(set.value("f", "free", "plain text"), "plain text");
  EXPECT_EQ(set.value("f", "free", "True"), true);
}

TEST(LenientJson, reads_surrogates_and_refuses_deep_nesting) {
  EXPECT_EQ(*LenientJson(R"("\ud83d\ude80 \ud83d")").value(), "🚀 \uFFFD");
  EXPECT_FALSE(LenientJson(std::string(100000, '[')).value());
}

}  // namespace
}  // namespace hearth::text
