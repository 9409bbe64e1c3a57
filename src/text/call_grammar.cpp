#include "text/call_grammar.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/call_arguments.h"
#include "text/grammar_schema.h"

namespace hearth::text {
namespace {

constexpr int most_calls = 16;

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty() && !item.empty()) text += ' ';
    text += item;
  }
  return text;
}

/// Writes `call_<name>` and its kin; `index` is the call's, where the dialect numbers them.
class CallRules {
 public:
  CallRules(const LarkWriter& lark, const Dialect& dialect, const std::vector<CallableTool>& tools)
      : lark_(lark), dialect_(dialect), tools_(tools) {}

  /// Rules of each tool's arguments.
  Result<void> arguments() {
    for (std::size_t i = 0; i < tools_.size(); ++i) {
      auto written = argument_rules(lark_, dialect_, tools_[i], fmt::format("args_{}", i));
      if (!written) return fail(written.error());
      rules_ += *written;
    }
    return {};
  }

  /// A rule `call_<index>`: one call of any tool.
  /// @param head  what goes before its name, `before_name` but for what the answer holds already
  void call(int index, std::string_view head) {
    const auto& shape = dialect_.call;
    std::string options;
    for (std::size_t i = 0; i < tools_.size(); ++i) {
      const std::string number = shape.numbered ? fmt::format(":{}", index) : "";
      const std::string opening =
          fmt::format("{}{}{}{}", head, tools_[i].name, number, shape.after_name);
      options += fmt::format("{}{}", options.empty() ? "" : " | ",
                             joined({lark_.literal(opening), fmt::format("args_{}", i),
                                     lark_.literal(shape.after_call)}));
    }
    rules_ += fmt::format("call_{}: {}\n", index, options);
  }

  std::string rules_;

 private:
  const LarkWriter& lark_;
  const Dialect& dialect_;
  const std::vector<CallableTool>& tools_;
};

}  // namespace

LarkWriter::LarkWriter(const Grammars& grammars, const Tokenizer& tokenizer,
                       std::vector<std::string_view> markers)
    : grammars_(grammars), tokenizer_(tokenizer), markers_(std::move(markers)) {
  std::erase_if(markers_, [&](std::string_view marker) {
    const auto id = tokenizer_.id_of(marker);
    return !id || !tokenizer_.is_marker(*id);
  });
}

std::string LarkWriter::literal(std::string_view text) const {
  std::vector<std::string> items;
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    const auto marker = std::ranges::find_if(
        markers_, [&](std::string_view m) { return text.substr(at).starts_with(m); });
    if (marker == markers_.end()) {
      plain += text[at++];
      continue;
    }
    if (!plain.empty()) items.push_back(json_string(plain));
    plain.clear();
    items.push_back(fmt::format("<[{}]>", *tokenizer_.id_of(*marker)));
    at += marker->size();
  }
  if (!plain.empty()) items.push_back(json_string(plain));
  return joined(items);
}

std::pair<std::string, std::string> LarkWriter::split_literal(std::string_view text) const {
  std::size_t first = text.size();
  for (const auto marker : markers_) first = std::min(first, text.find(marker));
  const auto plain = text.substr(0, first);
  return {plain.empty() ? "" : json_string(plain), literal(text.substr(plain.size()))};
}

std::string LarkWriter::regex(std::string_view expression) {
  std::string out;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const bool escape = expression[i] == '\\' && i + 1 < expression.size();
    if (escape) {
      out += expression.substr(i++, 2);
    } else if (expression[i] == '/') {
      out += "\\/";
    } else if (expression[i] == '\n') {
      out += "\\n";
    } else {
      out += expression[i];
    }
  }
  return fmt::format("/{}/", out);
}

std::string LarkWriter::text_before(std::string_view end) {
  std::string escaped;
  for (const char c : end) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) || byte >= 0x80;
    escaped += plain ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return fmt::format("/(?s:.*)/ & ~/(?s:.*){}(?s:.*)/", escaped);
}

Result<std::string> LarkWriter::json(const Json& schema, bool any_whitespace) const {
  auto held = compiled_schema(grammars_, schema, {.any_whitespace = any_whitespace});
  if (!held) return fail(held.error());
  return fmt::format("%json {}", held->dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<std::string> call_rules(const LarkWriter& lark, const Dialect& dialect,
                               const std::vector<CallableTool>& tools, bool parallel,
                               std::string_view opened) {
  const auto& shape = dialect.call;
  CallRules writer(lark, dialect, tools);
  if (auto written = writer.arguments(); !written) return fail(written.error());
  const int count = parallel && !shape.one_a_turn ? (shape.numbered ? most_calls : 2) : 1;
  std::string head = fmt::format("{}{}", shape.begin, shape.before_name);
  if (!opened.empty() && head.starts_with(opened)) head = head.substr(opened.size());
  writer.call(0, head);
  for (int i = 1; i < count; ++i) writer.call(i, shape.before_name);
  std::string more;
  const auto between = lark.literal(shape.between);
  if (count > 1 && shape.numbered) {
    for (int i = count - 1; i > 0; --i) more = fmt::format("({} call_{} {})?", between, i, more);
  } else if (count > 1) {
    more = fmt::format("({} call_1){{0,{}}}", between, most_calls - 1);
  }
  return writer.rules_ +
         fmt::format("calls: {}\n", joined({"call_0", more, lark.literal(shape.end)}));
}

}  // namespace hearth::text
