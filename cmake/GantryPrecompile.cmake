# Precompiled headers: what translation units of one kind read most of, read once. One a kind of code and of flags, since
# exceptions, type information and the optimiser's level are part of what is precompiled:
#
#   GantryPch         libraries of the compiler          MLIR, both dialects            GantryMLIR.cmake
#   GantryRuntimePch  plan, runtime, drivers, show       the plan, the runtime          lib/CMakeLists.txt
#   GantryToolPch     the driver tool                    the same                       lib/CMakeLists.txt
#   GantryTestPch     tests that know no MLIR            drivers, plans, GoogleTest     test/unit/CMakeLists.txt

# gantry_precompile(NAME [PROGRAMS] [OPTIONS ...] [LIBRARIES ...] [AFTER ...] HEADERS ...): makes it, for
# target_precompile_headers(... REUSE_FROM NAME).
#   PROGRAMS   it is for programs, whose code is position independent in another way than that of libraries
#   LIBRARIES  whose headers are among them    AFTER  targets that make some
function(gantry_precompile name)
  cmake_parse_arguments(ARG "PROGRAMS" "" "OPTIONS;LIBRARIES;AFTER;HEADERS" ${ARGN})
  # Written when it changes only, or each configuring would build the header again.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/${name}.cpp CONTENT "// Carries the precompiled header.\n")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/pch/${name}.cpp)
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES})
  # Without times inside, the cache has one for all clones.
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS} "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  if(ARG_PROGRAMS)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIE)
  endif()
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  if(ARG_AFTER)
    add_dependencies(${name} ${ARG_AFTER})
  endif()
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()
