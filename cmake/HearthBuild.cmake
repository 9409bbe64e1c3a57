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

# Several files a compiler run: they share what their headers and templates cost, which is most of it.
# Names in a folder's anonymous namespaces must differ for it. `dev` goes without, as above.
option(HEARTH_UNITY "compile a target's files in batches" ON)
set(HEARTH_UNITY_BATCH 6)  # more would not leave enough batches for the cores

add_library(hearth_flags INTERFACE)
target_include_directories(hearth_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(hearth_flags SYSTEM BEFORE INTERFACE ${PROJECT_BINARY_DIR}/generated/json)
target_compile_options(hearth_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
# g++ 12 takes the frames of coroutines for pairs of new and delete that do not match.
target_compile_options(hearth_flags INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
if(HEARTH_SANITIZE)
  target_compile_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE})
  if(HEARTH_SANITIZE MATCHES undefined)
    # A null pointer and a wrong size are AddressSanitizer's to find. The checks left out stand at every
    # access of every object: a third of what a sanitized build costs.
    target_compile_options(hearth_flags INTERFACE -fno-sanitize-recover=undefined
      -fno-sanitize=null,alignment,object-size,vptr)
  endif()
endif()

# Every program of the label `unit`. `make test` runs them in the sanitized build, so they are not part
# of `all`; everything else runs against the release build.
add_custom_target(unit_tests)
add_custom_target(benches)

# Gives a target the precompiled headers of its KIND: all targets that are compiled with the same OPTIONS
# share one set, since making one costs as much as a batch of files.
function(hearth_precompile target kind options)
  if(NOT HEARTH_PCH)
    return()
  endif()
  set(headers hearth_headers_${kind})
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/headers.cpp CONTENT "")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/generated/headers.cpp)
    target_compile_options(${headers} PRIVATE ${options})
    target_link_libraries(${headers} PRIVATE hearth_flags nlohmann_json::nlohmann_json fmt::fmt
      spdlog::spdlog tl::expected Threads::Threads mlx Boost::headers
      $<$<STREQUAL:${kind},test>:GTest::gmock>)
    target_precompile_headers(${headers} PRIVATE <algorithm> <functional> <map> <memory> <string> <vector>
      <fmt/format.h> <nlohmann/json.hpp> <tl/expected.hpp> <mlx/array.h> <mlx/fast.h> <mlx/ops.h>
      <mlx/transforms.h> <boost/asio.hpp> <boost/beast/core.hpp> <boost/beast/http.hpp>)
    if(kind STREQUAL test)
      target_precompile_headers(${headers} PRIVATE <gtest/gtest.h> <gmock/gmock.h>)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# Compiles a target in batches, but for dialects and families, whose files name their parts alike, and for
# kernels, which include themselves once an instruction set and whose names the shared headers spoil.
function(hearth_unity target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "/(kernels|dialect|models)/")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  list(FILTER sources INCLUDE REGEX "/kernels/")
  set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${HEARTH_UNITY} UNITY_BUILD_BATCH_SIZE ${HEARTH_UNITY_BATCH})
  if(HEARTH_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # a batch is no main file to g++
  endif()
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
  if(sources)
    if(arg_COLD AND CMAKE_BUILD_TYPE STREQUAL Release)
      target_compile_options(hearth_${name} PRIVATE -O1)
      hearth_precompile(hearth_${name} cold -O1)
    else()
      hearth_precompile(hearth_${name} hot "")
    endif()
    hearth_unity(hearth_${name})
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
    set(options -O0 -fPIC)  # -O0: half of what they cost to compile; -fPIC: as the headers they share
    target_compile_options(${name}_test PRIVATE ${options})
    hearth_precompile(${name}_test test "${options}")
    hearth_unity(${name}_test)
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
