#include "tensor/kernels/cuda/source.h"

#include <fmt/format.h>

#include <stdexcept>

namespace hearth::kernels::cuda {
namespace {

/// The arguments of PRODUCTS for a kind: bits, whether groups are of 32, tiles loaded ahead.
std::string_view product_arguments(std::string_view kind) {
  if (kind == "q4") return "4, false, 4";
  if (kind == "q4g32") return "4, true, 4";
  if (kind == "q8") return "8, false, 4";
  if (kind == "q8g32") return "8, true, 4";
  if (kind == "bf16") return "16, false, 2";
  throw std::invalid_argument(fmt::format("CUDA kernels: no unit \"{}\"", kind));
}

}  // namespace

std::string_view unit_of(std::string_view kernel) {
  if (kernel.starts_with("attend_")) return "attend";
  if (kernel.starts_with("few") || kernel.starts_with("many")) {
    return kernel.substr(kernel.find('_') + 1);
  }
  return "rowwise";
}

std::string source_of(std::string_view unit) {
  std::string source = source_common;
  if (unit == "rowwise") return source + source_rowwise;
  if (unit == "attend") return source + source_attend;
  return source + source_products +
         fmt::format("PRODUCTS({}, {})\n", unit, product_arguments(unit));
}

}  // namespace hearth::kernels::cuda
