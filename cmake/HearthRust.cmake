# rust/textbridge (tokenizers, minijinja) as the static library target `textbridge`.
# Every build preset shares one cargo target folder: the crate does not depend on our flags.

find_program(HEARTH_CARGO cargo HINTS $ENV{HOME}/.cargo/bin REQUIRED)
set(bridge_source ${PROJECT_SOURCE_DIR}/rust/textbridge)
set(bridge_target ${PROJECT_SOURCE_DIR}/build/cargo)
set(bridge_library ${bridge_target}/release/libtextbridge.a)
file(GLOB_RECURSE bridge_files CONFIGURE_DEPENDS ${bridge_source}/src/*.rs)
add_custom_command(
  OUTPUT ${bridge_library}
  COMMAND ${HEARTH_CARGO} build --release --locked --quiet
          --manifest-path ${bridge_source}/Cargo.toml --target-dir ${bridge_target}
  DEPENDS ${bridge_files} ${bridge_source}/Cargo.toml ${bridge_source}/Cargo.lock
  COMMENT "Building rust/textbridge"
  VERBATIM)
add_custom_target(textbridge_build DEPENDS ${bridge_library})
add_library(textbridge STATIC IMPORTED GLOBAL)
add_dependencies(textbridge textbridge_build)
set_target_properties(textbridge PROPERTIES
  IMPORTED_LOCATION ${bridge_library}
  INTERFACE_INCLUDE_DIRECTORIES ${bridge_source}/include)
target_link_libraries(textbridge INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
