// The CPU target: kernels of linalg ops in, one shared object of native code out.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

/// What the code is made for.
struct CPUTargetOptions {
  std::string cpu = "native"; ///< a name that LLVM knows, or native for this machine
};

/// Machine code of all kernels of a module. Each kernel is an exported function
/// `void name(void *const *buffers, int64_t begin, int64_t end)`.
struct CPUCode {
  std::vector<char> sharedObject;    ///< ELF bytes
  std::string target;                ///< architecture, x86-64
  std::vector<std::string> features; ///< CPU features that the code uses, as in /proc/cpuinfo
};

/// Adds the passes from kernels (gantry.kernel) to functions over memrefs and loops, with
/// gantry.items, gantry.grain and gantry.scratch on each.
void buildKernelPipeline(mlir::OpPassManager &pm);

/// Adds the passes from there to the LLVM dialect.
void buildLLVMPipeline(mlir::OpPassManager &pm);

/// Text of the optimised LLVM IR of `module` (LLVM dialect).
llvm::FailureOr<std::string> printLLVMIR(mlir::ModuleOp module, const CPUTargetOptions &options);

/// Compiles and links `module` (LLVM dialect). `kernels` are the functions to export. Diagnostics
/// go to the module's context. Linking is serialised in the process, lld keeps global state.
llvm::FailureOr<CPUCode> emitCPUCode(mlir::ModuleOp module, llvm::ArrayRef<std::string> kernels,
                                     const CPUTargetOptions &options);

} // namespace gantry
