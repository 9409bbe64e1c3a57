#include "server/worker_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace hearth::server {
namespace {

struct Family {
  std::string name, head;            // "# HELP" and "# TYPE"
  std::vector<std::string> samples;  // name and labels, in the order of the first text
  std::map<std::string, double> values;
};

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// "hearth_x" of "# HELP hearth_x words"; empty for other lines.
std::string_view helped(std::string_view line) {
  constexpr std::string_view mark = "# HELP ";
  if (!line.starts_with(mark)) return {};
  line.remove_prefix(mark.size());
  return line.substr(0, line.find(' '));
}

class Sums {
 public:
  void add(std::string_view text, std::string_view own) {
    Family* family = nullptr;
    bool skips = false, first = false;
    for (const auto line : lines_of(text)) {
      if (const auto name = helped(line); !name.empty()) {
        skips = own.find(fmt::format("# HELP {} ", name)) != own.npos;
        first = false;
        if (!skips) family = &named(name, first);
      }
      if (skips || !family) continue;
      if (!line.starts_with('#')) {
        add_sample(*family, line);
      } else if (first) {
        family->head += fmt::format("{}\n", line);
      }
    }
  }

  std::string text() const {
    std::string out;
    for (const Family& family : families_) {
      out += family.head;
      for (const auto& sample : family.samples) {
        out += fmt::format("{} {}\n", sample, family.values.at(sample));
      }
    }
    return out;
  }

 private:
  Family& named(std::string_view name, bool& made) {
    for (Family& family : families_) {
      if (family.name == name) return family;
    }
    made = true;
    families_.push_back({.name = std::string(name), .head = {}, .samples = {}, .values = {}});
    return families_.back();
  }

  static void add_sample(Family& family, std::string_view line) {
    const auto space = line.rfind(' ');
    if (space == line.npos) return;
    const std::string key(line.substr(0, space)), number(line.substr(space + 1));
    const auto [at, made] = family.values.emplace(key, 0);
    if (made) family.samples.push_back(key);
    at->second += std::strtod(number.c_str(), nullptr);
  }

  std::vector<Family> families_;
};

}  // namespace

std::string summed_metrics(const std::vector<std::string>& texts, std::string_view own) {
  Sums sums;
  for (const auto& text : texts) sums.add(text, own);
  return sums.text();
}

}  // namespace hearth::server
