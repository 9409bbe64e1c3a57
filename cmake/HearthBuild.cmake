# Compiler settings shared by every target, and hearth_library().

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1" CACHE STRING "flags of the Dev build type")
set(CMAKE_C_FLAGS_DEV "-O1 -g1" CACHE STRING "flags of the Dev build type")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(HEARTH_CCACHE ccache)
if(HEARTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEARTH_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${HEARTH_CCACHE})
endif()

add_library(hearth_flags INTERFACE)
target_include_directories(hearth_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(hearth_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(HEARTH_SANITIZE)
  target_compile_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE})
  if(HEARTH_SANITIZE MATCHES undefined)
    target_compile_options(hearth_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

# hearth_library(NAME [OBJECT] [DEPENDS other ...] [LINK library ...])
#
# Makes the library hearth_NAME of every .cpp below the current folder, but for *_test.cpp,
# *_bench.cpp and main.cpp. The tests become the program NAME_test, registered with the label
# `unit`; a test file named *_golden_test.cpp, *_live_test.cpp and so on stays out of it and is
# built by tests/CMakeLists.txt. Each *_bench.cpp becomes a program of its own.
function(hearth_library name)
  cmake_parse_arguments(arg "OBJECT" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(benches ${sources})
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cpp$")

  if(arg_OBJECT)
    add_library(hearth_${name} OBJECT ${sources})
  elseif(sources)
    add_library(hearth_${name} STATIC ${sources})
  else()
    add_library(hearth_${name} INTERFACE)
  endif()
  set(kind PUBLIC)
  if(NOT sources)
    set(kind INTERFACE)
  endif()
  list(TRANSFORM arg_DEPENDS PREPEND hearth_)
  target_link_libraries(hearth_${name} ${kind} hearth_flags ${arg_DEPENDS} ${arg_LINK})
  add_library(hearth::${name} ALIAS hearth_${name})

  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE hearth_${name} GTest::gmock GTest::gtest_main)
    hearth_link_objects(${name}_test ${name} ${arg_DEPENDS})
    add_test(NAME ${name}_test COMMAND ${name}_test)
    set_tests_properties(${name}_test PROPERTIES LABELS unit TIMEOUT 600)
  endif()
  foreach(bench ${benches})
    get_filename_component(bench_name ${bench} NAME_WE)
    add_executable(${bench_name} ${bench})
    target_link_libraries(${bench_name} PRIVATE hearth_${name} benchmark::benchmark)
    hearth_link_objects(${bench_name} ${name} ${arg_DEPENDS})
  endforeach()
endfunction()

# Programs must name the objects of `models`: from a static library the linker would drop the
# registration of the families.
function(hearth_link_objects target)
  target_sources(${target} PRIVATE
    $<$<TARGET_EXISTS:hearth_models>:$<$<BOOL:$<IN_LIST:hearth_models,$<TARGET_PROPERTY:${target},LINK_LIBRARIES>>>:>>)
endfunction()
