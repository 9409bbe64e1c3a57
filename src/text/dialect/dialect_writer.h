// For tests: writes calls as a dialect's data says they are written, so that data and reader are
// held against each other.
#pragma once

#include <string>
#include <vector>

#include "text/dialect/dialect.h"

namespace hearth::text::testing {

struct WrittenCall {
  std::string name;
  Json arguments = Json::object();
};

inline std::string python_value(const Json& value, std::string_view quote, bool python) {
  if (value.is_string()) {
    if (python) return value.dump();
    return std::string(quote) + value.get<std::string>() + std::string(quote);
  }
  if (value.is_boolean() && python) return value.get<bool>() ? "True" : "False";
  if (value.is_null() && python) return "None";
  std::string out;
  if (value.is_array()) {
    for (const Json& item : value) {
      out += (out.empty() ? "" : ", ") + python_value(item, quote, python);
    }
    return "[" + out + "]";
  }
  if (!value.is_object()) return value.dump();
  for (const auto& [key, member] : value.items()) {
    out += out.empty() ? "" : ",";
    out += (python ? Json(key).dump() : key) + ":" + python_value(member, quote, python);
  }
  return "{" + out + "}";
}

inline std::string write_arguments(const Dialect& dialect, const Json& arguments) {
  if (dialect.form == ArgumentForm::json) return arguments.dump();
  const auto& p = dialect.parameter;
  std::string out;
  for (const auto& [key, value] : arguments.items()) {
    if (!out.empty()) out += p.between;
    out.append(p.before_key).append(key).append(p.after_key);
    if (dialect.form == ArgumentForm::parameters) {
      out += value.is_string() ? value.get<std::string>() : value.dump();
    } else {
      out += python_value(value, p.string_quote, dialect.form == ArgumentForm::pythonic);
    }
    out += p.after_value;
  }
  return out;
}

inline std::string write_calls(const Dialect& dialect, const std::vector<WrittenCall>& calls) {
  const auto& c = dialect.call;
  std::string out(c.begin);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) out += c.between;
    out.append(c.before_name).append(calls[i].name);
    if (c.numbered) out += ":" + std::to_string(i);
    out.append(c.after_name).append(write_arguments(dialect, calls[i].arguments));
    out += c.after_call;
  }
  return out += c.end;
}

/// Function tools with string, integer, boolean, array and object parameters.
inline Json test_tools() {
  const Json parameters = Json::parse(R"({"type":"object","properties":{
    "path":{"type":"string"},"count":{"type":"integer"},"all":{"type":"boolean"},
    "tags":{"type":"array","items":{"type":"string"}},"where":{"type":"object"},
    "note":{"type":["string","null"]}}})");
  Json tools = Json::array();
  for (const char* name : {"read", "stat", "get_weather"}) {
    tools.push_back(
        {{"type", "function"}, {"function", {{"name", name}, {"parameters", parameters}}}});
  }
  return tools;
}

}  // namespace hearth::text::testing
