#include "tensor/gguf_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>

namespace hearth::tensor {

static_assert(std::endian::native == std::endian::little, "GGUF is read in place, little-endian");

namespace {

constexpr std::uint64_t max_keys = 1 << 14;
constexpr std::uint64_t max_tensors = 1 << 20;
constexpr std::uint64_t max_values = 1 << 24;  // elements of all arrays together
constexpr std::uint64_t max_name = 1 << 16;
constexpr std::uint32_t max_alignment = 1 << 20;
constexpr std::uint32_t max_rank = 4;
constexpr int max_nesting = 4;

enum class ValueType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

/// Least bytes that a value of this type takes; 0 for an unknown type.
std::uint64_t least_bytes(ValueType type) {
  switch (type) {
    case ValueType::u8:
    case ValueType::i8:
    case ValueType::boolean:
      return 1;
    case ValueType::u16:
    case ValueType::i16:
      return 2;
    case ValueType::u32:
    case ValueType::i32:
    case ValueType::f32:
      return 4;
    case ValueType::string:
    case ValueType::u64:
    case ValueType::i64:
    case ValueType::f64:
      return 8;
    case ValueType::array:
      return 12;
  }
  return 0;
}

/// Reads values one after the other. After the first failure every read gives zero, and error()
/// says what happened, where.
class Cursor {
 public:
  Cursor(std::string file, std::span<const std::uint8_t> bytes)
      : file_(std::move(file)), bytes_(bytes) {}

  /// What is being read, for messages: "key general.name".
  void describe(std::string what) { what_ = std::move(what); }

  std::uint64_t position() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }
  bool good() const { return !error_; }
  const Error& error() const { return *error_; }

  void refuse(std::string_view problem, ErrorCode code = ErrorCode::corrupt_file) {
    if (!error_) error_ = Error{code, fmt::format("{}: {}: {}", file_, what_, problem)};
  }

  template <class T>
  T number() {
    T value{};
    if (take(sizeof(T))) std::memcpy(&value, bytes_.data() + at_ - sizeof(T), sizeof(T));
    return value;
  }

  std::string string(std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
    const auto size = number<std::uint64_t>();
    if (good() && size > limit) refuse(fmt::format("a name of {} bytes, at most {}", size, limit));
    if (!take(size)) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + at_ - size, size};
  }

  Json value(ValueType type, int nesting = 0) {
    switch (type) {
      case ValueType::u8:
        return number<std::uint8_t>();
      case ValueType::i8:
        return number<std::int8_t>();
      case ValueType::u16:
        return number<std::uint16_t>();
      case ValueType::i16:
        return number<std::int16_t>();
      case ValueType::u32:
        return number<std::uint32_t>();
      case ValueType::i32:
        return number<std::int32_t>();
      case ValueType::u64:
        return number<std::uint64_t>();
      case ValueType::i64:
        return number<std::int64_t>();
      case ValueType::f32:
        return number<float>();
      case ValueType::f64:
        return number<double>();
      case ValueType::boolean:
        return number<std::uint8_t>() != 0;
      case ValueType::string:
        return string();
      case ValueType::array:
        return array(nesting);
    }
    refuse(fmt::format("has the unknown value type {}", static_cast<std::uint32_t>(type)));
    return {};
  }

 private:
  bool take(std::uint64_t size) {
    if (error_) return false;
    if (size > left()) {
      refuse(fmt::format(
          "incomplete: the file has {} bytes, expected at least {}{}. Download it again",
          bytes_.size(), at_, size >> 62 ? " and an absurd length" : fmt::format(" + {}", size)));
      return false;
    }
    at_ += size;
    return true;
  }

  Json array(int nesting) {
    const auto type = static_cast<ValueType>(number<std::uint32_t>());
    const auto count = number<std::uint64_t>();
    Json out = Json::array();
    if (!good()) return out;
    const auto least = least_bytes(type);
    if (least == 0) {
      refuse(fmt::format("an array of the unknown type {}", static_cast<std::uint32_t>(type)));
    } else if (nesting >= max_nesting) {
      refuse(fmt::format("arrays nested more than {} deep", max_nesting));
    } else if (count > left() / least) {
      refuse(fmt::format("incomplete: an array of {} values in a file of {} bytes", count,
                         bytes_.size()));
    } else if (count > max_values - values_) {
      refuse(fmt::format("an array of {} values, at most {} are read in all", count, max_values));
    }
    if (!good()) return out;
    values_ += count;
    out.get_ref<Json::array_t&>().reserve(count);
    for (std::uint64_t i = 0; i < count && good(); ++i) out.push_back(value(type, nesting + 1));
    return out;
  }

  std::string file_, what_ = "header";
  std::span<const std::uint8_t> bytes_;
  std::uint64_t at_ = 0;
  std::uint64_t values_ = 0;
  std::optional<Error> error_;
};

struct Counts {
  std::uint64_t tensors = 0, keys = 0;
};

Counts read_counts(Cursor& cursor) {
  Counts counts;
  const auto magic = cursor.number<std::uint32_t>();
  const auto version = cursor.number<std::uint32_t>();
  counts.tensors = cursor.number<std::uint64_t>();
  counts.keys = cursor.number<std::uint64_t>();
  if (!cursor.good()) return counts;
  if (magic != 0x46554747) {  // "GGUF"
    cursor.refuse("not a GGUF file: it does not start with 'GGUF'");
  } else if (version != 0 && (version & 0xffff) == 0) {
    cursor.refuse("a big-endian GGUF file, which is not read here", ErrorCode::unsupported);
  } else if (version != 2 && version != 3) {
    cursor.refuse(fmt::format("GGUF version {}, expected 2 or 3", version), ErrorCode::unsupported);
  } else if (counts.keys > max_keys) {
    cursor.refuse(fmt::format("{} metadata keys, at most {} are read", counts.keys, max_keys));
  } else if (counts.tensors > max_tensors) {
    cursor.refuse(fmt::format("{} tensors, at most {} are read", counts.tensors, max_tensors));
  }
  return counts;
}

Json read_metadata(Cursor& cursor, std::uint64_t count) {
  Json::object_t out;
  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < count && cursor.good(); ++i) {
    cursor.describe(fmt::format("metadata key {} of {}", i + 1, count));
    auto key = cursor.string(max_name);
    if (!cursor.good()) break;
    cursor.describe("metadata key " + key);
    if (!seen.insert(key).second) cursor.refuse("is given twice");
    auto value = cursor.value(static_cast<ValueType>(cursor.number<std::uint32_t>()));
    // Straight to the vector beneath: ordered_json would search it for every key.
    out.Container::emplace_back(std::move(key), std::move(value));
  }
  return out;
}

/// One tensor's info; its offset is still relative to the data.
GgufTensor read_info(Cursor& cursor) {
  GgufTensor tensor{};
  const auto rank = cursor.number<std::uint32_t>();
  if (!cursor.good()) return tensor;
  if (rank < 1 || rank > max_rank) {
    cursor.refuse(fmt::format("has {} dimensions, expected 1 to {}", rank, max_rank));
    return tensor;
  }
  unsigned __int128 weights = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    const auto dim = cursor.number<std::uint64_t>();
    if (cursor.good() && (dim < 1 || dim > std::numeric_limits<std::int32_t>::max())) {
      cursor.refuse(fmt::format("has a dimension of {}, expected 1 to 2^31 - 1", dim));
    }
    if (!cursor.good()) return tensor;
    tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(dim));
    weights *= dim;
    if (weights >> 60) cursor.refuse(fmt::format("is {}, more than any file holds", tensor.shape));
  }
  const auto id = cursor.number<std::uint32_t>();
  tensor.offset = cursor.number<std::uint64_t>();
  if (!cursor.good()) return tensor;
  tensor.type = find_gguf_type(id);
  if (!tensor.type) {
    cursor.refuse(fmt::format("has the unknown type {}", id));
  } else if (tensor.row_length() % tensor.type->block != 0) {
    cursor.refuse(fmt::format("has rows of {} weights, expected a multiple of {} for {}",
                              tensor.row_length(), tensor.type->block, tensor.type->name));
  } else {
    const auto blocks = weights / static_cast<unsigned>(tensor.type->block);
    tensor.bytes =
        static_cast<std::uint64_t>(blocks * static_cast<unsigned>(tensor.type->block_bytes));
  }
  return tensor;
}

std::map<std::string, GgufTensor> read_infos(Cursor& cursor, std::uint64_t count) {
  std::map<std::string, GgufTensor> out;
  for (std::uint64_t i = 0; i < count && cursor.good(); ++i) {
    cursor.describe(fmt::format("tensor {} of {}", i + 1, count));
    auto name = cursor.string(max_name);
    if (!cursor.good()) break;
    cursor.describe("tensor " + name);
    auto tensor = read_info(cursor);
    if (cursor.good() && !out.emplace(std::move(name), std::move(tensor)).second) {
      cursor.refuse("is given twice");
    }
  }
  return out;
}

Result<std::uint64_t> read_alignment(const Json& metadata) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return 32;
  if (!found->is_number_unsigned()) {
    return fail(ErrorCode::corrupt_file, "general.alignment is no unsigned number");
  }
  const auto alignment = found->get<std::uint64_t>();
  if (alignment < 8 || alignment > max_alignment || !std::has_single_bit(alignment)) {
    return fail(ErrorCode::corrupt_file,
                fmt::format("general.alignment is {}, expected a power of two from 8 to {}",
                            alignment, max_alignment));
  }
  return alignment;
}

/// Makes offsets absolute; each tensor must be aligned, apart from the others and within the file.
Result<void> place(std::map<std::string, GgufTensor>& tensors, std::uint64_t data_start,
                   std::uint64_t alignment, std::uint64_t file_size) {
  using Named = std::pair<const std::string, GgufTensor>;
  const auto corrupt = [](std::string what) {
    return fail(ErrorCode::corrupt_file, std::move(what));
  };
  std::vector<Named*> order;
  for (auto& named : tensors) {
    auto& [name, tensor] = named;
    if (tensor.offset % alignment != 0) {
      return corrupt(fmt::format("tensor {}: its offset {} is no multiple of {}", name,
                                 tensor.offset, alignment));
    }
    if (tensor.offset >> 62 || tensor.bytes >> 62) {
      return corrupt(fmt::format("tensor {}: its {} bytes at {} are beyond what any file holds",
                                 name, tensor.bytes, tensor.offset));
    }
    tensor.offset += data_start;
    order.push_back(&named);
  }
  std::ranges::sort(order, {}, [](const Named* named) { return named->second.offset; });
  std::uint64_t end = data_start;
  const std::string* previous = nullptr;
  for (const Named* named : order) {
    const auto& [name, tensor] = *named;
    if (tensor.offset < end) return corrupt(fmt::format("tensor {}: overlaps {}", name, *previous));
    end = tensor.offset + tensor.bytes;
    previous = &name;
  }
  if (order.empty() || end <= file_size) return {};  // a file may hold a vocabulary alone
  const auto* first = *std::ranges::find_if(order, [&](const Named* named) {
    return named->second.offset + named->second.bytes > file_size;
  });
  return corrupt(
      fmt::format("incomplete: the file has {} bytes, expected {}; tensor {} is cut off. "
                  "Download it again",
                  file_size, end, first->first));
}

}  // namespace

std::int64_t GgufTensor::rows() const {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) return fail(file.error());
  GgufFile out;
  out.file_ = std::move(*file);
  const auto bytes = out.file_->bytes();
  Cursor cursor(path.string(), bytes);
  const Counts counts = read_counts(cursor);
  out.metadata_ = read_metadata(cursor, counts.keys);
  if (cursor.good()) out.tensors_ = read_infos(cursor, counts.tensors);
  if (!cursor.good()) return fail(cursor.error());

  const auto in_file = [&](const Error& error) {
    return fail(error.code, fmt::format("{}: {}", path.string(), error.message));
  };
  const auto alignment = read_alignment(out.metadata_);
  if (!alignment) return in_file(alignment.error());
  const std::uint64_t data_start = (cursor.position() + *alignment - 1) / *alignment * *alignment;
  if (auto placed = place(out.tensors_, data_start, *alignment, bytes.size()); !placed) {
    return in_file(placed.error());
  }
  return out;
}

}  // namespace hearth::tensor
