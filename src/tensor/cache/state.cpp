#include "tensor/cache/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace hearth::tensor {
namespace {

/// The arrays of a state, one after another.
class StateBlock final : public KvBlock {
 public:
  explicit StateBlock(std::vector<Array> arrays) : arrays_(std::move(arrays)) {
    for (const auto& array : arrays_) {
      format_ += fmt::format("{} {}", to_string(array.dtype()), array.ndim());
      for (const int n : array.shape()) format_ += fmt::format(" {}", n);
      format_ += "; ";
      const auto* data = array.data<std::byte>();
      bytes_.insert(bytes_.end(), data, data + array.nbytes());
    }
  }
  std::string format() const override { return "state: " + format_; }
  std::span<const std::byte> bytes() const override { return bytes_; }
  const std::vector<Array>& arrays() const { return arrays_; }

 private:
  const std::vector<Array> arrays_;
  std::string format_;
  std::vector<std::byte> bytes_;
};

/// Dtype and shape as StateBlock writes them; none where the words are others.
std::optional<std::pair<mx::Dtype, Shape>> parse_array(std::istringstream& words) {
  std::string name;
  int ndim = 0;
  if (!(words >> name >> ndim) || ndim < 1 || ndim > 8) return std::nullopt;
  Shape shape;
  for (int n = 0; int(shape.size()) < ndim && words >> n && n > 0;) shape.push_back(n);
  char end = 0;
  if (int(shape.size()) != ndim || !(words >> end) || end != ';') return std::nullopt;
  for (const auto dtype : {mx::float32, mx::bfloat16, mx::float16}) {
    if (to_string(dtype) == name) return std::pair{dtype, shape};
  }
  return std::nullopt;
}

}  // namespace

Past StateCache::append(const Array&, const Array&) {
  throw std::logic_error("a recurrent layer has no keys and values");
}

void StateCache::collect(std::vector<Array>& arrays) const {
  for (const auto& array : arrays_) {
    if (array) arrays.push_back(*array);
  }
}

void StateCache::mark() { marked_ = {arrays_, offset_}; }

bool StateCache::roll_back() {
  if (!marked_) return false;
  arrays_ = marked_->arrays;
  offset_ = marked_->offset;
  return true;
}

std::size_t StateCache::bytes() const {
  std::size_t bytes = 0;
  for (const auto& array : arrays_) bytes += array ? array->nbytes() : 0;
  return bytes;
}

KvBlockPtr StateCache::block(int, int to) const {
  if (to != offset_ || !std::ranges::all_of(arrays_, [](const auto& a) { return bool(a); })) {
    return nullptr;
  }
  std::vector<Array> copies;
  for (const auto& array : arrays_) copies.push_back(mx::contiguous(*array));
  mx::eval(copies);
  return std::make_shared<StateBlock>(std::move(copies));
}

bool StateCache::start(std::span<const KvBlockPtr> blocks, int offset) {
  if (blocks.size() != 1 || offset_ != 0) return false;
  const auto* block = dynamic_cast<const StateBlock*>(blocks.front().get());
  if (!block || block->arrays().size() != arrays_.size()) return false;
  std::ranges::copy(block->arrays(), arrays_.begin());
  offset_ = offset;
  return true;
}

KvBlockPtr StateCache::parse_block(std::string_view format,
                                   std::span<const std::byte> bytes) const {
  std::istringstream words{std::string(format)};
  std::string head;
  if (!(words >> head) || head != "state:") return nullptr;
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const auto known = parse_array(words);
    if (!known) return nullptr;
    const auto& [dtype, shape] = *known;
    double size = double(mx::size_of(dtype));
    for (const int n : shape) size *= n;
    if (size > double(bytes.size())) return nullptr;
    Array array(mx::allocator::malloc(std::size_t(size)), shape, dtype);
    std::copy_n(bytes.begin(), std::size_t(size), array.data<std::byte>());
    bytes = bytes.subspan(std::size_t(size));
    arrays.push_back(std::move(array));
  }
  if (!bytes.empty()) return nullptr;
  auto block = std::make_shared<StateBlock>(std::move(arrays));
  return block->format() == format ? block : nullptr;
}

StateCache& StateCache::of(KvCache& cache) {
  if (auto* state = dynamic_cast<StateCache*>(&cache)) return *state;
  throw std::logic_error("a recurrent layer was given a cache of keys and values");
}

}  // namespace hearth::tensor
