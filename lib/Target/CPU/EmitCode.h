// Machine code of kernels in the LLVM dialect.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace gantry {

/// Machine code of kernels of a module. Each kernel is an exported function
/// `void name(void *const *buffers, int64_t begin, int64_t end)`.
struct CPUCode {
  std::vector<char> sharedObject;    ///< ELF bytes
  std::string target;                ///< architecture, x86-64
  std::vector<std::string> features; ///< all that the code may use: Support/CPUFeatures*.def
};

/// Text of the optimised LLVM IR of `module` (LLVM dialect) for a CPU.
llvm::FailureOr<std::string> printLLVMIR(mlir::ModuleOp module, const std::string &cpu);

/// What emitCPUCode gives but for the bytes, of kernels of any form.
llvm::FailureOr<CPUCode> outlineCPUCode(mlir::ModuleOp module, const std::string &cpu);

/// Compiles and links `module` (LLVM dialect) for a CPU. `kernels` are the functions to export.
/// Diagnostics go to the module's context. Linking is serialised in the process, lld keeps global
/// state.
llvm::FailureOr<CPUCode> emitCPUCode(mlir::ModuleOp module, llvm::ArrayRef<std::string> kernels,
                                     const std::string &cpu);

} // namespace gantry
