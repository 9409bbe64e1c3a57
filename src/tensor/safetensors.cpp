#include "tensor/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "tensor/safetensors_header.h"

namespace hearth::tensor {
namespace mx = mlx::core;
namespace {

struct Kind {
  std::string_view name;
  int bits;
  std::optional<mx::Dtype> dtype;  // none where MLX has no such type
};

const Kind kinds[] = {
    {"BOOL", 8, mx::bool_},     {"U8", 8, mx::uint8},
    {"I8", 8, mx::int8},        {"U16", 16, mx::uint16},
    {"I16", 16, mx::int16},     {"F16", 16, mx::float16},
    {"BF16", 16, mx::bfloat16}, {"U32", 32, mx::uint32},
    {"I32", 32, mx::int32},     {"F32", 32, mx::float32},
    {"U64", 64, mx::uint64},    {"I64", 64, mx::int64},
    {"F64", 64, mx::float32},   {"C64", 64, mx::complex64},
    {"F8_E4M3", 8, {}},         {"F8_E5M2", 8, {}},
    {"F8_E8M0", 8, {}},         {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},     {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},         {"F4", 4, {}},
};

const Kind* find_kind(std::string_view name) {
  const auto* found = std::ranges::find(kinds, name, &Kind::name);
  return found == std::end(kinds) ? nullptr : found;
}

constexpr std::uint64_t header_limit = 100'000'000;  // as the reference reader has it
constexpr std::size_t rank_limit = 32;

/// Bytes that the shape takes, or what is wrong with it.
Result<std::uint64_t> tensor_bytes(const HeaderEntry& entry) {
  const auto wrong = [&](std::string what) {
    return fail(ErrorCode::corrupt_file, std::move(what));
  };
  const Kind* kind = find_kind(entry.dtype);
  if (!kind) return wrong(fmt::format("has the unknown dtype '{}'", entry.dtype));
  if (entry.shape.size() > rank_limit) {
    return wrong(
        fmt::format("has {} dimensions, at most {} are expected", entry.shape.size(), rank_limit));
  }
  unsigned __int128 bits = static_cast<unsigned>(kind->bits);
  bool empty = false;
  for (const std::uint64_t dim : entry.shape) {
    if (dim > std::numeric_limits<std::int32_t>::max()) {
      return wrong(fmt::format("has a dimension of {}, at most 2^31 - 1 is expected", dim));
    }
    empty |= dim == 0;
    if (dim > 0) bits *= dim;
    if (bits >> 66) {
      return wrong(fmt::format("is [{}], more than any file holds", fmt::join(entry.shape, ", ")));
    }
  }
  if (empty) return 0;
  if (bits % 8 != 0) {
    return wrong(fmt::format("ends within a byte: [{}] of {} bits", fmt::join(entry.shape, ", "),
                             kind->bits));
  }
  return static_cast<std::uint64_t>(bits / 8);
}

/// What is wrong with one entry by itself.
Result<void> check_entry(const HeaderEntry& entry) {
  const auto bytes = tensor_bytes(entry);
  if (!bytes) return fail(bytes.error());
  if (entry.end < entry.begin) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("has data_offsets [{}, {}], its end before its "
                            "start",
                            entry.begin, entry.end));
  }
  if (entry.end >> 62) {  // so that sums of sizes cannot overflow
    return fail(ErrorCode::corrupt_file,
                fmt::format("ends at byte {}, beyond what any file holds", entry.end));
  }
  if (entry.end - entry.begin != *bytes) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("has {} bytes, expected {} for {} [{}]", entry.end - entry.begin,
                            *bytes, entry.dtype, fmt::join(entry.shape, ", ")));
  }
  return {};
}

/// Tensors must fill the data without overlap, gap or rest.
Result<void> check_layout(const std::string& file, std::span<const HeaderEntry> entries,
                          std::uint64_t header_end, std::uint64_t file_size) {
  std::vector<const HeaderEntry*> order;
  for (const auto& entry : entries) order.push_back(&entry);
  std::ranges::sort(order, [](const HeaderEntry* a, const HeaderEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  const auto corrupt = [&](std::string what) {
    return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", file, what));
  };
  const std::uint64_t data_size = file_size - header_end;
  std::uint64_t at = 0;
  for (const HeaderEntry* entry : order) {
    if (entry->begin != at) {
      return corrupt(fmt::format(
          "tensor {} starts at byte {} of the data, expected {} ({})", entry->name, entry->begin,
          at, entry->begin < at ? "it overlaps another tensor" : "there is a gap before it"));
    }
    at = entry->end;
  }
  if (at > data_size) {
    const auto* first = *std::ranges::find_if(
        order, [&](const HeaderEntry* entry) { return entry->end > data_size; });
    return corrupt(
        fmt::format("incomplete: the file has {} bytes, expected {}; tensor {} is cut "
                    "off. Download it again",
                    file_size, header_end + at, first->name));
  }
  if (at < data_size) {
    return corrupt(fmt::format("has {} bytes, expected {}: {} bytes follow the last tensor",
                               file_size, header_end + at, data_size - at));
  }
  return {};
}

/// The header's length, or why there is no header.
Result<std::uint64_t> header_length(const std::string& file, std::span<const std::uint8_t> bytes) {
  const auto corrupt = [&](std::string what) {
    return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", file, what));
  };
  if (bytes.size() < 8) {
    return corrupt(
        fmt::format("incomplete: the file has {} bytes, expected at least 8. Download it "
                    "again",
                    bytes.size()));
  }
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | bytes[static_cast<std::size_t>(i)];
  if (length < 2 || length > header_limit) {
    return corrupt(
        fmt::format("not a safetensors file: its header claims {} bytes, expected 2 to {}", length,
                    header_limit));
  }
  if (length > bytes.size() - 8) {
    return corrupt(
        fmt::format("incomplete: the file has {} bytes, expected at least {} for its "
                    "header. Download it again",
                    bytes.size(), length + 8));
  }
  return length;
}

/// MLX has float64 on the CPU alone, so models get float32.
Array float32_of_f64(const std::uint8_t* data, mx::Shape shape) {
  Array out = fresh_array(std::move(shape), mx::float32);
  float* to = out.data<float>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    double value;
    std::memcpy(&value, data + i * sizeof(value), sizeof(value));
    to[i] = static_cast<float>(value);
  }
  return out;
}

}  // namespace

int dtype_bits(std::string_view dtype) {
  const Kind* kind = find_kind(dtype);
  return kind ? kind->bits : 0;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return fail(file.error());
  const auto bytes = (*file)->bytes();
  const auto length = header_length(path.string(), bytes);
  if (!length) return fail(length.error());
  auto header = parse_safetensors_header(
      {reinterpret_cast<const char*>(bytes.data()) + 8, static_cast<std::size_t>(*length)});
  if (!header) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("{}: bad header: {}", path.string(), header.error().message));
  }
  for (const auto& entry : header->entries) {
    if (const auto good = check_entry(entry); !good) {
      return fail(good.error().code,
                  fmt::format("{}: tensor {} {}", path.string(), entry.name, good.error().message));
    }
  }
  const std::uint64_t header_end = 8 + *length;
  if (const auto good = check_layout(path.string(), header->entries, header_end, bytes.size());
      !good) {
    return fail(good.error());
  }

  SafetensorsFile out;
  out.file_ = std::move(*file);
  out.metadata_ = std::move(header->metadata);
  for (auto& entry : header->entries) {
    out.entries_.emplace(std::move(entry.name),
                         Entry{.dtype = std::move(entry.dtype),
                               .shape = {entry.shape.begin(), entry.shape.end()},
                               .offset = header_end + entry.begin,
                               .bytes = entry.end - entry.begin});
  }
  return out;
}

Result<Array> SafetensorsFile::array(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return fail(ErrorCode::not_found, fmt::format("{}: no tensor {}", path().string(), name));
  }
  const Entry& entry = found->second;
  const Kind& kind = *find_kind(entry.dtype);
  if (!kind.dtype) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("{}: tensor {} is {}, which is not read here; convert the model to bf16 "
                    "or to an MLX quantisation",
                    path().string(), name, entry.dtype));
  }
  mx::Shape shape(entry.shape.begin(), entry.shape.end());
  if (entry.dtype == "F64") {
    return float32_of_f64(file_->bytes().data() + entry.offset, std::move(shape));
  }
  return mapped_array(file_, entry.offset, std::move(shape), *kind.dtype);
}

}  // namespace hearth::tensor
