// Sizes as users write and read them: "12GB", "8GiB", "900MB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::cli {

/// What a number without a suffix counts.
enum class SizeUnit : std::uint64_t { bytes = 1, gigabytes = 1'000'000'000, gibibytes = 1u << 30 };

/// Bytes. Suffixes B, kB, MB, GB, TB are decimal, KiB, MiB, GiB, TiB binary; a bare K, M, G, T is
/// binary; letter case does not matter. None when it is no size, negative or over 2^62 bytes.
std::optional<std::uint64_t> parse_size(std::string_view text, SizeUnit bare);

/// "1.46 GB", "900 kB": three digits, decimal units.
std::string human_size(std::uint64_t bytes);

/// "135 M", "7.24 B": a count of parameters.
std::string human_count(std::uint64_t count);

}  // namespace hearth::cli
