# SPDX-License-Identifier: MIT OR Apache-2.0
# `cpack -G DEB` makes two packages: varve (program, shared library, pages) and libvarve-dev.
# With SOURCE_DATE_EPOCH set the same tree gives the same bytes.
set(CPACK_PACKAGE_NAME varve)
set(CPACK_PACKAGE_VENDOR "The Varve authors")
set(CPACK_PACKAGE_CONTACT "The Varve authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL Runtime Development)
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME varve)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libvarve-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
string(CONCAT CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "varve (= ${PROJECT_VERSION}), libisal-dev, liblz4-dev, libzstd-dev, libxxhash-dev, libssl-dev, "
  "libfmt-dev, libsimdjson-dev, libsqlite3-dev, libargon2-dev")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
    "The program, its manual pages and completions, and the shared library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Headers for C and C++, the static library, and files for CMake and pkg-config.")
include(CPack)
