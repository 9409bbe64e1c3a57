# MLX from its pinned wheel, and the system libraries.

# Which pack: `auto` takes Metal on macOS, CUDA where an NVIDIA driver answers, else the CPU.
set(pack ${HEARTH_MLX_PACK})
if(pack STREQUAL auto)
  if(APPLE)
    set(pack metal)
  else()
    find_program(HEARTH_NVIDIA_SMI nvidia-smi)
    set(pack cpu)
    if(HEARTH_NVIDIA_SMI)
      execute_process(COMMAND ${HEARTH_NVIDIA_SMI} OUTPUT_VARIABLE smi ERROR_QUIET)
      if(smi MATCHES "CUDA Version: *([0-9]+)")
        if(CMAKE_MATCH_1 GREATER_EQUAL 13)
          set(pack cuda13)
        elseif(CMAKE_MATCH_1 EQUAL 12)
          set(pack cuda12)
        endif()
      endif()
    endif()
  endif()
endif()
set(HEARTH_MLX_PACK_USED ${pack} CACHE INTERNAL "the MLX pack in use")

# Returns at once when the pinned version is there; a new pin fetches anew.
set(mlx_root ${PROJECT_SOURCE_DIR}/.deps/mlx-${pack})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/pins.json)
execute_process(
  COMMAND python3 ${PROJECT_SOURCE_DIR}/tools/fetch_mlx.py ${pack} ${mlx_root}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the MLX pack '${pack}' could not be fetched; see the lines above")
endif()
set(MLX_DIR ${mlx_root}/mlx/share/cmake/MLX)
find_package(MLX CONFIG REQUIRED)
# The pack's headers are not ours to warn about.
get_target_property(mlx_includes mlx INTERFACE_INCLUDE_DIRECTORIES)
set_target_properties(mlx PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${mlx_includes}")
message(STATUS "MLX pack: ${pack}")

find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
# A copy of the header that costs less in each file: its literal `_json`, unused here, compiled a whole
# parser everywhere and is deleted; what Json itself needs is compiled once, by base/json.cpp.
get_target_property(json_includes nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
find_file(HEARTH_JSON_HEADER nlohmann/json.hpp HINTS ${json_includes} REQUIRED)
file(READ ${HEARTH_JSON_HEADER} json_header)
string(REPLACE "{\n    return nlohmann::json::parse(s, s + n);\n}" "= delete;" json_header
       "${json_header}")
string(REPLACE "#include <nlohmann/detail/macro_unscope.hpp>" [=[
#include <nlohmann/detail/macro_unscope.hpp>
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;
extern template class std::vector<nlohmann::ordered_json>;
]=] json_header "${json_header}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/json/nlohmann/json.hpp
     CONTENT "${json_header}" @ONLY)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.81 REQUIRED)
# Asio's and Beast's own functions are compiled once and not in every file that includes them.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/asio.cpp CONTENT
     "#include <boost/asio/impl/src.hpp>\n#include <boost/beast/src.hpp>\n")
add_library(hearth_asio STATIC ${PROJECT_BINARY_DIR}/generated/asio.cpp)
target_link_libraries(hearth_asio PUBLIC Boost::headers Threads::Threads)
target_compile_definitions(hearth_asio PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION)
target_link_libraries(hearth_flags INTERFACE hearth_asio)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CURL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
find_package(tl-expected REQUIRED)
find_package(tomlplusplus REQUIRED)
