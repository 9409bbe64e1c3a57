#include "services/hub/shard_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <utility>

#include "tensor/safetensors_header.h"

namespace hearth::services::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_header = 100'000'000;

tl::unexpected<Error> broken(const fs::path& file, const std::string& what) {
  return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", file.string(), what));
}

/// Product of a shape; none when it overflows.
std::optional<std::int64_t> product(const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const auto side : shape) {
    if (__builtin_mul_overflow(count, side, &count) || count > INT64_MAX) return std::nullopt;
  }
  return static_cast<std::int64_t>(count);
}

Result<std::string> header_text(const fs::path& file, std::uint64_t size) {
  std::ifstream in(file, std::ios::binary);
  std::array<unsigned char, 8> prefix{};
  if (size < 8 || !in.read(reinterpret_cast<char*>(prefix.data()), 8)) {
    return broken(file,
                  fmt::format("incomplete: {} bytes, too short for a safetensors header", size));
  }
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[static_cast<std::size_t>(i)];
  if (length > longest_header) {
    return broken(file, fmt::format("the header claims {} bytes, at most {} are accepted", length,
                                    longest_header));
  }
  if (length > size - 8) {
    return broken(
        file, fmt::format("incomplete: the header claims {} bytes, the file has {}", length, size));
  }
  std::string text(length, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(length))) {
    return broken(file, "the header could not be read");
  }
  return text;
}

/// Tensors must fill the data part from its first byte to its last, without holes or overlaps.
Result<void> check_layout(const fs::path& file, std::vector<tensor::HeaderEntry> entries,
                          std::uint64_t data_bytes) {
  std::ranges::sort(entries, {},
                    [](const auto& entry) { return std::pair(entry.begin, entry.end); });
  std::uint64_t expected = 0;
  for (const auto& entry : entries) {
    if (entry.end > data_bytes) {
      return broken(file, fmt::format("incomplete: {} ends at byte {} of the data, the file has {}",
                                      entry.name, entry.end, data_bytes));
    }
    if (entry.begin != expected || entry.end < entry.begin) {
      return broken(file, fmt::format("{} lies at bytes {} to {}, expected to begin at {}",
                                      entry.name, entry.begin, entry.end, expected));
    }
    expected = entry.end;
  }
  return {};
}

}  // namespace

Result<ShardHeader> read_shard_header(const fs::path& file) {
  std::error_code ec;
  const auto size = fs::file_size(file, ec);
  if (ec) {
    return fail(ErrorCode::not_found,
                fmt::format("{}: incomplete: {}", file.string(), ec.message()));
  }
  const auto text = header_text(file, size);
  if (!text) return fail(text.error());
  auto header = tensor::parse_safetensors_header(*text);
  if (!header) return broken(file, header.error().message);
  if (auto sound = check_layout(file, header->entries, size - 8 - text->size()); !sound) {
    return fail(sound.error());
  }
  ShardHeader out{.tensors = {}, .file_bytes = static_cast<std::int64_t>(size)};
  for (auto& entry : header->entries) {
    const auto elements = product(entry.shape);
    if (!elements) return broken(file, fmt::format("{}: the shape overflows", entry.name));
    out.tensors.push_back({.name = std::move(entry.name),
                           .dtype = std::move(entry.dtype),
                           .elements = *elements,
                           .bytes = static_cast<std::int64_t>(entry.end - entry.begin)});
  }
  return out;
}

}  // namespace hearth::services::hub
