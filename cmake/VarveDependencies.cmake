# SPDX-License-Identifier: MIT OR Apache-2.0
# Every library the project uses, found through pkg-config or CMake's own modules. The reasons for
# each are in docs/dependencies.md.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PkgConfig REQUIRED)
pkg_check_modules(VARVE_ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(VARVE_LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(VARVE_XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(VARVE_ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(VARVE_ARGON2 REQUIRED IMPORTED_TARGET libargon2)
pkg_check_modules(VARVE_SQLITE REQUIRED IMPORTED_TARGET sqlite3)
# Headers alone.
find_path(VARVE_FLATBUFFERS flatbuffers/flatbuffers.h REQUIRED)
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
if(VARVE_BUILD_TOOL)
  find_package(CLI11 REQUIRED)
  pkg_check_modules(VARVE_HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
  find_package(wslay REQUIRED)
endif()
