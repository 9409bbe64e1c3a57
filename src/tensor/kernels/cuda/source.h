// The kernels' CUDA C: parts that join to the source of one unit of compilation.
#pragma once

#include <string>
#include <string_view>

namespace hearth::kernels::cuda {

extern const char* const source_common;
extern const char* const source_rowwise;
extern const char* const source_products;
extern const char* const source_attend;

/// The unit that has a kernel: "rowwise", "attend", or the kind of a product's weights.
std::string_view unit_of(std::string_view kernel);

/// The whole source of a unit.
std::string source_of(std::string_view unit);

}  // namespace hearth::kernels::cuda
