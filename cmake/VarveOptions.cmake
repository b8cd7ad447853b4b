# SPDX-License-Identifier: MIT OR Apache-2.0
# Compiler settings shared by every target of the project.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(VARVE_CCACHE ccache)
if(VARVE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness lets ccache work beside precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros "${VARVE_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${VARVE_CCACHE}")
endif()

add_library(varve_settings INTERFACE)
target_compile_features(varve_settings INTERFACE cxx_std_23)
target_compile_options(varve_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wimplicit-fallthrough
  # Paths of the build machine stay out of binaries, so that builds are reproducible.
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(VARVE_WERROR)
  target_compile_options(varve_settings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 at -O2 and above in its own standard library.
  target_compile_options(varve_settings INTERFACE
    -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized
    -Wno-stringop-overread -Wno-dangling-pointer)
endif()
if(VARVE_SANITIZE)
  target_compile_options(varve_settings INTERFACE
    -fsanitize=${VARVE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(varve_settings INTERFACE -fsanitize=${VARVE_SANITIZE})
endif()
if(VARVE_BUILD_FUZZ)
  # Coverage feedback for the code of the library, which libFuzzer steers by.
  target_compile_options(varve_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()
