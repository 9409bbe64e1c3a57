#include "script.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file.h"

namespace hearth::scripted {
namespace {

using std::chrono::milliseconds;

/// One word of a fixed list.
template <class T>
Result<T> one_of(const std::map<std::string, T>& words, const std::string& word) {
  if (const auto found = words.find(word); found != words.end()) return found->second;
  return fail(ErrorCode::usage, fmt::format("\"{}\" is none of its {} words", word, words.size()));
}

std::vector<std::string> strings(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

Result<void> set_field(Turn& turn, const std::string& key, const Json& value) {
  using engine::FinishReason;
  static const std::map<std::string, FinishReason> finishes{{"stop", FinishReason::stop},
                                                            {"length", FinishReason::length},
                                                            {"error", FinishReason::error}};
  static const std::map<std::string, ErrorCode> refusals{
      {"overloaded", ErrorCode::overloaded},
      {"context_overflow", ErrorCode::context_overflow},
      {"internal", ErrorCode::internal}};
  if (key == "when") {
    turn.when = strings(value);
  } else if (key == "unless") {
    turn.unless = strings(value);
  } else if (key == "text") {
    turn.text = value.get<std::string>();
  } else if (key == "reasoning") {
    turn.reasoning = value.get<std::string>();
  } else if (key == "finish") {
    const auto reason = one_of(finishes, value.get<std::string>());
    if (!reason) return fail(reason.error());
    turn.finish = *reason;
  } else if (key == "refuse") {
    const auto code = one_of(refusals, value.get<std::string>());
    if (!code) return fail(code.error());
    turn.refuse = *code;
  } else if (key == "delay_ms") {
    turn.delay = milliseconds(value.get<int>());
  } else if (key == "token_delay_ms") {
    turn.token_delay = milliseconds(value.get<int>());
  } else if (key == "times") {
    turn.times = value.get<int>();
  } else {
    return fail(ErrorCode::usage, "no such field");
  }
  return {};
}

}  // namespace

bool Turn::matches(std::string_view prompt) const {
  const auto stands = [&](const std::string& part) { return prompt.find(part) != prompt.npos; };
  return std::ranges::all_of(when, stands) && std::ranges::none_of(unless, stands);
}

std::string Turn::said(std::string_view prompt) const {
  return prompt.ends_with("<think>\n") ? reasoning + "\n</think>\n\n" + text : text;
}

Result<Script> Script::read(const std::filesystem::path& file) {
  const auto json = read_json_file(file);
  if (!json) return fail(json.error());
  return parse(*json);
}

Result<Script> Script::parse(const Json& json) try {
  Script script;
  for (const Json& row : json.at("turns")) {
    Turn turn;
    for (const auto& [key, value] : row.items()) {
      if (auto set = set_field(turn, key, value); !set) {
        return fail(ErrorCode::usage, fmt::format("turns[{}].{}: {}", script.turns_.size(), key,
                                                  set.error().message));
      }
    }
    script.turns_.push_back(std::move(turn));
  }
  script.used_.resize(script.turns_.size());
  return script;
} catch (const Json::exception& e) {
  return fail(ErrorCode::usage, fmt::format("the script is not as script.h says: {}", e.what()));
}

std::optional<Script::Picked> Script::take(std::string_view prompt) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    const Turn& turn = turns_[i];
    const bool left = turn.times == 0 || used_[i] < turn.times;
    if (!left || !turn.matches(prompt)) continue;
    ++used_[i];
    return Picked{int(i), turn};
  }
  return std::nullopt;
}

}  // namespace hearth::scripted
