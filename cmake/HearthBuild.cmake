# Compiler settings shared by every target, and hearth_library().

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Kernels need some optimisation: intrinsics take constants. Under UBSan -O1 costs twice what -Og does.
add_compile_options("$<$<CONFIG:Dev>:-Og;-g1>")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(HEARTH_CCACHE ccache)
if(HEARTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEARTH_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${HEARTH_CCACHE})
endif()

# A third less for a build from scratch. The preset `dev` goes without: ccache serves many small
# builds better, and a missing #include shows.
option(HEARTH_PCH "precompile the headers that most files include" ON)

add_library(hearth_flags INTERFACE)
target_include_directories(hearth_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(hearth_flags SYSTEM BEFORE INTERFACE ${PROJECT_BINARY_DIR}/generated/json)
target_compile_options(hearth_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(HEARTH_SANITIZE)
  target_compile_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE})
  if(HEARTH_SANITIZE MATCHES undefined)
    target_compile_options(hearth_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

# Every program of the label `unit`. `make test` runs them in the sanitized build, so they are not part
# of `all`; everything else runs against the release build.
add_custom_target(unit_tests)
add_custom_target(benches)

# Precompiles the heavy headers of a target: JSON and fmt for all, MLX's for those that see it.
function(hearth_precompile target libraries)
  if(NOT HEARTH_PCH)
    return()
  endif()
  set(headers <algorithm> <functional> <map> <memory> <string> <vector> <fmt/format.h>
      <nlohmann/json.hpp> <tl/expected.hpp>)
  if("${libraries}" MATCHES "mlx|tensor|models|engine")
    list(APPEND headers <mlx/array.h> <mlx/fast.h> <mlx/ops.h> <mlx/transforms.h>)
  endif()
  if("${libraries}" MATCHES "Boost")
    list(APPEND headers <boost/asio.hpp> <boost/beast/core.hpp> <boost/beast/http.hpp>)
  endif()
  if("${target}" MATCHES "_test$")
    list(APPEND headers <gtest/gtest.h> <gmock/gmock.h>)
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# The link item of another hearth library. `models` is linked whole: otherwise the linker would drop
# the families, which nothing names and which register themselves.
function(hearth_link_item name result)
  if(name STREQUAL models)
    set(${result} "$<LINK_LIBRARY:WHOLE_ARCHIVE,hearth_models>" PARENT_SCOPE)
  else()
    set(${result} hearth_${name} PARENT_SCOPE)
  endif()
endfunction()

# hearth_library(NAME [COLD] [DEPENDS other ...] [LINK library ...])
#
# COLD: no loop over weights, logits or long texts is in it; it is compiled at -O1, which costs two
# thirds of -O3. Makes the library hearth_NAME of every .cpp below the current folder, but for *_test.cpp,
# *_bench.cpp and main.cpp. The tests become the program NAME_test, with the ctest label `unit`.
# Each *_bench.cpp becomes a program of its own, built by its name or by the target `benches`.
function(hearth_library name)
  cmake_parse_arguments(arg "COLD" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(benches ${sources})
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cpp$")

  set(kind PUBLIC)
  if(sources)
    add_library(hearth_${name} STATIC ${sources})
  else()
    add_library(hearth_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  if(arg_COLD AND CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(hearth_${name} PRIVATE -O1)
  endif()
  if(sources)
    hearth_precompile(hearth_${name} "${arg_LINK};${arg_DEPENDS}")
  endif()
  target_link_libraries(hearth_${name} ${kind} hearth_flags ${arg_LINK})
  foreach(other ${arg_DEPENDS})
    hearth_link_item(${other} item)
    target_link_libraries(hearth_${name} ${kind} ${item})
  endforeach()

  hearth_link_item(${name} self)
  if(tests)
    add_executable(${name}_test EXCLUDE_FROM_ALL ${tests})
    target_link_libraries(${name}_test PRIVATE ${self} GTest::gmock GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE -O0)  # half of what they cost to compile
    hearth_precompile(${name}_test "${arg_LINK};${arg_DEPENDS}")
    add_dependencies(unit_tests ${name}_test)
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES LABELS unit TIMEOUT 600 ENVIRONMENT
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")
  endif()
  foreach(bench ${benches})
    get_filename_component(bench_name ${bench} NAME_WE)
    add_executable(${bench_name} EXCLUDE_FROM_ALL ${bench})
    target_link_libraries(${bench_name} PRIVATE ${self} benchmark::benchmark)
    add_dependencies(benches ${bench_name})
  endforeach()
endfunction()
