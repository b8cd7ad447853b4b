# SPDX-License-Identifier: MIT OR Apache-2.0
# What `cmake --install` puts where. Component Runtime: the program, its manual pages and completions,
# the shared library. Component Development: headers, static library, CMake package, pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(varve_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/varve")
install(TARGETS varve EXPORT varve_targets
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
set(varve_doc_dir "${CMAKE_INSTALL_DATADIR}/doc")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE-MIT" "${PROJECT_SOURCE_DIR}/LICENSE-APACHE"
              "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
        DESTINATION "${varve_doc_dir}/varve" COMPONENT Runtime)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE-MIT" "${PROJECT_SOURCE_DIR}/LICENSE-APACHE"
        DESTINATION "${varve_doc_dir}/libvarve-dev" COMPONENT Development)

if(VARVE_BUILD_TOOL)
  install(TARGETS varve_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT Runtime)
endif()
# The program prints its pages itself, so that they are made where it can run.
if(VARVE_BUILD_TOOL AND NOT CMAKE_CROSSCOMPILING)
  set(varve_pages "${PROJECT_BINARY_DIR}/pages")
  add_custom_command(OUTPUT "${varve_pages}.stamp"
    COMMAND "${CMAKE_COMMAND}" -D "TOOL=$<TARGET_FILE:varve_tool>" -D "OUT=${varve_pages}"
            -P "${PROJECT_SOURCE_DIR}/cmake/VarvePages.cmake"
    COMMAND "${CMAKE_COMMAND}" -E touch "${varve_pages}.stamp"
    DEPENDS varve_tool "${PROJECT_SOURCE_DIR}/cmake/VarvePages.cmake" VERBATIM)
  add_custom_target(varve_pages ALL DEPENDS "${varve_pages}.stamp")
  install(DIRECTORY "${varve_pages}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT Runtime)
  install(FILES "${varve_pages}/completions/varve"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT Runtime)
  install(FILES "${varve_pages}/completions/varve.fish"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT Runtime)
  # Debian's zsh looks for those of packages in another folder than for local ones.
  install(CODE "set(varve_zsh site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
      set(varve_zsh vendor-completions)
    endif()" COMPONENT Runtime)
  install(FILES "${varve_pages}/completions/_varve"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/\${varve_zsh}" COMPONENT Runtime)
endif()
