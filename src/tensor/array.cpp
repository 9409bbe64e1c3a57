#include "tensor/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::tensor {

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string to_string(mx::Dtype dtype) {
  switch (dtype.val()) {
    case mx::Dtype::Val::bool_:
      return "bool";
    case mx::Dtype::Val::uint8:
      return "uint8";
    case mx::Dtype::Val::uint16:
      return "uint16";
    case mx::Dtype::Val::uint32:
      return "uint32";
    case mx::Dtype::Val::uint64:
      return "uint64";
    case mx::Dtype::Val::int8:
      return "int8";
    case mx::Dtype::Val::int16:
      return "int16";
    case mx::Dtype::Val::int32:
      return "int32";
    case mx::Dtype::Val::int64:
      return "int64";
    case mx::Dtype::Val::float16:
      return "float16";
    case mx::Dtype::Val::float32:
      return "float32";
    case mx::Dtype::Val::float64:
      return "float64";
    case mx::Dtype::Val::bfloat16:
      return "bfloat16";
    case mx::Dtype::Val::complex64:
      return "complex64";
  }
  return "unknown";
}

Array split_heads(const Array& x, int heads) {
  return mx::reshape(x, {x.shape(0), x.shape(1), heads, -1});
}

Array heads_first(const Array& x) { return mx::transpose(x, {0, 2, 1, 3}); }

Array merge_heads(const Array& x) {
  return mx::reshape(mx::transpose(x, {0, 2, 1, 3}), {x.shape(0), x.shape(2), -1});
}

}  // namespace hearth::tensor
