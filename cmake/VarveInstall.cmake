# SPDX-License-Identifier: MIT OR Apache-2.0
# What `cmake --install` puts where: the library with its exported target, headers, the program.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(varve_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/varve")
install(TARGETS varve varve_settings EXPORT varve_targets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT Development)
if(VARVE_BUILD_SHARED)
  install(TARGETS varve_shared EXPORT varve_targets
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT Runtime
          NAMELINK_COMPONENT Development)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/varve"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT Development)
install(FILES "${PROJECT_SOURCE_DIR}/include/varve.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT Development)
install(EXPORT varve_targets NAMESPACE varve:: FILE varve-targets.cmake
        DESTINATION "${varve_config_dir}" COMPONENT Development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/varve-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/varve-config.cmake"
                              INSTALL_DESTINATION "${varve_config_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/varve-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/varve-config.cmake"
              "${PROJECT_BINARY_DIR}/varve-config-version.cmake"
        DESTINATION "${varve_config_dir}" COMPONENT Development)
# From the .pc file's own folder, so that the tree may be installed or moved anywhere.
file(RELATIVE_PATH varve_pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/varve.pc.in" "${PROJECT_BINARY_DIR}/varve.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/varve.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT Development)
if(VARVE_BUILD_TOOL)
  install(TARGETS varve_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT Runtime)
endif()
