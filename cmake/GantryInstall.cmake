# `cmake --install`: the tools, the shared libraries, the C headers, the exported package
# (find_package(Gantry) gives Gantry::runtime, Gantry::show and, where it was built, Gantry::compiler),
# gantry-runtime.pc, gantry-show.pc, and the files that messages and headers refer to. test/install runs all programs
# and builds against each library, from a prefix that was moved.

include(CMakePackageConfigHelpers)

set(installed_libraries gantry-runtime gantry-show gantry-emulator)
set_target_properties(gantry-runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(gantry-show PROPERTIES EXPORT_NAME show)
set_target_properties(gantry-emulator PROPERTIES EXPORT_NAME emulator)
set(installed_tools gantry gantry-memplan gantry-ptx)
if(GANTRY_BUILD_COMPILER)
  list(APPEND installed_libraries gantry-compiler)
  set_target_properties(gantry-compiler PROPERTIES EXPORT_NAME compiler)
  list(APPEND installed_tools gantry-opt gantry-lsp-server gantry-reduce)
endif()

# Built as installed: where the two search paths differ, CMake makes room for the longer one with colons, and an empty
# entry of a search path is the current folder (tools/dev/check_elf.py).
set_target_properties(${installed_libraries} ${installed_tools} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)

install(TARGETS ${installed_libraries} ${installed_tools} EXPORT GantryTargets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gantry-c DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What messages, --help and the headers' comments name, under the names that they use; docs/CMakeLists.txt adds the references.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
        DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN CMakeLists.txt EXCLUDE)
# Completion where bash, zsh and fish look below a prefix, and manual pages.
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/gantry/Plan/Plan.fbs
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gantry/Plan)
install(FILES ${PROJECT_SOURCE_DIR}/include/gantry/Support/CompileFlags.def
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gantry/Support)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Gantry)
install(EXPORT GantryTargets NAMESPACE Gantry:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/GantryConfig.cmake.in
  ${PROJECT_BINARY_DIR}/GantryConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/GantryConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/GantryConfig.cmake ${PROJECT_BINARY_DIR}/GantryConfigVersion.cmake
        DESTINATION ${package_dir})

# Paths in the .pc files are relative to the files themselves, so that the tree can be moved.
file(RELATIVE_PATH GANTRY_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(name gantry-runtime gantry-show)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
