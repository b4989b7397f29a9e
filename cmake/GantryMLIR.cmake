# Finds the distribution's MLIR 22 and wraps it as the target GantryMLIR.
# AddMLIR's add_mlir_* helpers are not used: in Debian's packages they link static archives that
# name the shared libLLVM, which registers everything twice.

# MLIR knows traits of ops by the spelling of their types, which g++ spells otherwise than the clang
# that made the packages (`ConstantLike<get()::Empty>` for `ConstantLike<Empty>`): what g++ builds
# links, and then folds constants forever, since libMLIR does not see that they are constants.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "the compiler half has to be built with clang, as Debian's MLIR is "
    "(-DCMAKE_CXX_COMPILER=clang++-22); ${CMAKE_CXX_COMPILER_ID} builds the shared layers and the "
    "runtime: configure with -DGANTRY_BUILD_COMPILER=OFF")
endif()

find_package(MLIR 22.1 CONFIG QUIET HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "MLIR 22.1 was not found; on Debian 12: "
    "apt-get install libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools liblld-22-dev clang-22 lld-22 "
    "(or configure with -DGANTRY_BUILD_COMPILER=OFF for the runtime alone)")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
# For whom installs what links it.
set_property(GLOBAL PROPERTY GANTRY_MLIR_FOLDER ${LLVM_LIBRARY_DIRS})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# mlir_tablegen reads the directory's include path, not a target's.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)

separate_arguments(GANTRY_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_library(GantryMLIR INTERFACE)
target_include_directories(GantryMLIR SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(GantryMLIR INTERFACE ${GANTRY_LLVM_DEFINITIONS})
# LLVM alone, for what links other archives that use it (lld).
add_library(GantryLLVM INTERFACE)
add_library(GantrySharedMLIR INTERFACE)
target_link_libraries(GantrySharedMLIR INTERFACE MLIR LLVM)
# What is linked decides: everything (ON), what has the property (COMPILER), nothing (OFF) has LLVM inside.
set(inside 0)
if(GANTRY_STATIC_LLVM)
  include(GantryStaticLLVM)
  string(REPLACE COMPILER "$<BOOL:$<TARGET_PROPERTY:GANTRY_LLVM_INSIDE>>" inside ${GANTRY_STATIC_LLVM})
  string(REPLACE ON 1 inside ${inside})
endif()
target_link_libraries(GantryLLVM INTERFACE $<IF:${inside},GantryStaticLLVM,LLVM>)
target_link_libraries(GantryMLIR INTERFACE $<IF:${inside},GantryStaticMLIR,GantrySharedMLIR>)

# TableGen writes below the current binary directory; the names are made to match the include lines.
macro(gantry_tablegen input output)
  set(LLVM_TARGET_DEFINITIONS ${input})
  file(RELATIVE_PATH relative ${CMAKE_CURRENT_BINARY_DIR} ${output})
  mlir_tablegen(${relative} ${ARGN})
endmacro()

# Everything TableGen makes; compiler libraries wait for it.
add_custom_target(GantryTableGen)

# One precompiled header for all libraries of the compiler: what MLIR's headers and those of our two
# dialects cost to read is 8 of the 10 s that a translation unit takes without it.
gantry_precompile(GantryPch OPTIONS -fno-exceptions -fno-rtti LIBRARIES GantryMLIR AFTER GantryTableGen HEADERS
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Bufferization/IR/Bufferization.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/LLVMIR/NVVMDialect.h>
  <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/IR/PatternMatch.h>
  <mlir/Pass/PassManager.h>
  <mlir/Transforms/DialectConversion.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h>
  <gantry/Dialect/Gantry/IR/Gantry.h>
  <gantry/Dialect/Plan/IR/Plan.h>)
