#include "mutator.h"

#include <algorithm>

namespace hearth::fuzz {
namespace {

using Pointer = Json::json_pointer;

void collect(const Json& json, const Pointer& at, std::vector<Pointer>& places) {
  if (!at.empty()) places.push_back(at);
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) collect(value, at / name, places);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) collect(json[i], at / i, places);
  }
}

std::vector<Pointer> places_in(const Json& json) {
  std::vector<Pointer> places;
  collect(json, Pointer(), places);
  return places;
}

void remove(Json& body, const Pointer& place) {
  Json& parent = body[place.parent_pointer()];
  if (parent.is_object()) {
    parent.erase(place.back());
  } else if (parent.is_array()) {
    parent.erase(std::stoul(place.back()));
  }
}

Json nested(std::size_t depth, bool list) {
  Json out = 1;
  for (std::size_t i = 0; i < depth; ++i) out = list ? Json::array({out}) : Json{{"type", out}};
  return out;
}

}  // namespace

std::string Mutator::text() {
  static const std::vector<std::string> texts{"",
                                              "x",
                                              "user",
                                              "assistant",
                                              "tool",
                                              "text",
                                              "function",
                                              "<|end|>",
                                              "<tool_call>",
                                              "\xff\xfe",
                                              std::string("a\0b", 3),
                                              "\u0000",
                                              "é東🚀",
                                              "{\"a\":1}",
                                              "(?<=x)y",
                                              "[unclosed",
                                              "^[a-z]{2}$",
                                              "root ::= \"a\" | \"b\"",
                                              "start: /x+/",
                                              "data:text/plain;base64,dHdv",
                                              "\xed\xa0\x80",
                                              "object",
                                              "#/$defs/x",
                                              "99999999999999999999",
                                              "-1",
                                              "nan",
                                              "auto",
                                              "required",
                                              "none"};
  if (chance(5)) return std::string(below(3000), 'a');
  return one_of(texts);
}

Json Mutator::value() {
  static const std::vector<Json> values{nullptr,
                                        true,
                                        false,
                                        0,
                                        -1,
                                        1,
                                        5,
                                        64,
                                        4096,
                                        1.5,
                                        -0.0,
                                        1e300,
                                        -1e300,
                                        2147483648LL,
                                        9223372036854775807LL,
                                        -9223372036854775807LL,
                                        18446744073709551615ULL,
                                        Json::array(),
                                        Json::object(),
                                        Json::array({nullptr}),
                                        Json::array({5}),
                                        Json::array({"x"}),
                                        Json::array({Json::object()}),
                                        Json{{"a", 1}},
                                        Json{{"type", 5}},
                                        Json{{"type", "text"}},
                                        Json{{"$ref", "#"}},
                                        Json{{"not", Json::object()}}};
  if (chance(30)) return text();
  if (chance(3)) return nested(1 + below(300), chance(50));
  return one_of(values);
}

void Mutator::change(Json& body, const Json& donor) {
  const auto places = places_in(body);
  if (places.empty()) {
    body = donor;
    return;
  }
  const Pointer at = one_of(places);
  const auto kind = below(8);
  if (kind < 3) {
    body[at] = value();
  } else if (kind == 3) {
    remove(body, at);
  } else if (kind == 4) {
    const auto others = places_in(donor);
    if (!others.empty()) body[at] = donor[one_of(others)];
  } else if (kind == 5) {
    const Json moved = body[one_of(places)];
    body[at] = moved;
  } else if (body[at].is_array()) {
    Json& list = body[at];
    list.push_back(list.empty() || chance(40) ? value() : list[below(list.size())]);
  } else if (body[at].is_object()) {
    body[at][chance(50) ? text().substr(0, 20) : at.back()] = value();
  } else {
    body[at] = Json::array({body[at]});
  }
}

Json Mutator::mutated(Json body, const Json& donor) {
  for (auto n = 1 + below(4); n > 0; --n) change(body, donor);
  return body;
}

std::string Mutator::mutated_bytes(std::string text) {
  static constexpr std::string_view bits = "\"{}[],:\\/0eE+-.\r\n \0\x7f\xc3\xf0;";
  for (auto n = 1 + below(6); n > 0 && !text.empty(); --n) {
    const auto at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = char(text[at] ^ (1 << below(8)));
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + below(16)));
        break;
      case 3:
        if (chance(20)) text.resize(at);
        break;
      default:
        text.insert(at, 1, bits[below(bits.size())]);
    }
  }
  return text;
}

}  // namespace hearth::fuzz
