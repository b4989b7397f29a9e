# gantry_add_library(NAME LAYER layer SOURCES ... [HOT ...] [DEPS ...] [GENERATED ...])
#
# One static library per layer; the two shared libraries (libgantry-runtime, libgantry-compiler)
# are put together from them in lib/CAPI. LAYER is one of the names in tools/dev/check_layers.py,
# which checks that the include lines agree with the layering.
#   DEPS       what its headers or sources need, PUBLIC
#   HOT        further sources, of layers that are built to be small: what a run passes through
#   GENERATED  targets that must run before compiling (TableGen, flatc, protoc)
# Libraries of the compiler layers get MLIR's headers, precompiled, and are built without RTTI and
# exceptions.

set(GANTRY_COMPILER_LAYERS Dialect Analysis Gradient Frontend Arithmetic Linalg Target Transforms Pipeline Search)
# Most of the runtime runs once for a plan or for an error, and is text put together: half as large so.
set(GANTRY_SMALL_LAYERS Support Device Judge Plan Runtime Drivers Machine Show)
# Those among them that read the plan and the runtime in most sources.
set(GANTRY_RUNTIME_PCH_LAYERS Plan Runtime Drivers Machine Show)
# -Os of Clang still inlines what is called once and is larger by a quarter.
set(GANTRY_SMALL $<$<CONFIG:Release>:$<IF:$<CXX_COMPILER_ID:Clang>,-Oz,-Os>>)

# gantry_with_exceptions(SOURCES...): of the folder's library. They meet allocations that fail, which LLVM lets pass.
function(gantry_with_exceptions)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fexceptions)
  set_property(SOURCE ${ARGN} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

function(gantry_add_library name)
  cmake_parse_arguments(ARG "" "LAYER" "SOURCES;HOT;DEPS;GENERATED" ${ARGN})
  if(NOT ARG_LAYER)
    message(FATAL_ERROR "gantry_add_library(${name}): LAYER is missing")
  endif()
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_HOT})
  if(ARG_LAYER IN_LIST GANTRY_SMALL_LAYERS)
    set_property(SOURCE ${ARG_SOURCES} APPEND PROPERTY COMPILE_OPTIONS ${GANTRY_SMALL})
  endif()
  if(ARG_LAYER IN_LIST GANTRY_RUNTIME_PCH_LAYERS)
    target_precompile_headers(${name} REUSE_FROM GantryRuntimePch)
    set_property(SOURCE ${ARG_HOT} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
  target_include_directories(${name} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions> $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  if(ARG_GENERATED)
    add_dependencies(${name} ${ARG_GENERATED})
  endif()
  if(ARG_LAYER IN_LIST GANTRY_COMPILER_LAYERS)
    target_link_libraries(${name} PUBLIC GantryMLIR)
    add_dependencies(${name} GantryTableGen)
    target_precompile_headers(${name} REUSE_FROM GantryPch)
    set_property(GLOBAL APPEND PROPERTY GANTRY_COMPILER_LIBS ${name})
  endif()
endfunction()
