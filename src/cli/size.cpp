#include "cli/size.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace hearth::cli {
namespace {

struct Suffix {
  std::string_view name;
  double bytes;
};

constexpr double kib = 1024;
constexpr std::array suffixes{
    Suffix{"b", 1},
    Suffix{"kb", 1e3},
    Suffix{"mb", 1e6},
    Suffix{"gb", 1e9},
    Suffix{"tb", 1e12},
    Suffix{"k", kib},
    Suffix{"m", kib* kib},
    Suffix{"g", kib* kib* kib},
    Suffix{"t", kib* kib* kib* kib},
    Suffix{"kib", kib},
    Suffix{"mib", kib* kib},
    Suffix{"gib", kib* kib* kib},
    Suffix{"tib", kib* kib* kib* kib},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string scaled(double value, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text, SizeUnit bare) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  double unit = static_cast<double>(bare);
  if (!rest.empty()) {
    unit = 0;
    for (const auto& suffix : suffixes) {
      if (suffix.name == lower(rest)) unit = suffix.bytes;
    }
    if (unit == 0) return std::nullopt;
  }
  const double bytes = value * unit;
  if (bytes > std::ldexp(1.0, 62)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string human_size(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> units{"B", "kB", "MB", "GB", "TB"};
  return scaled(static_cast<double>(bytes), units);
}

std::string human_count(std::uint64_t count) {
  static constexpr std::array<std::string_view, 5> units{"", "k", "M", "B", "T"};
  return scaled(static_cast<double>(count), units);
}

}  // namespace hearth::cli
