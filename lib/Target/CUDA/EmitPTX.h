// Code of gpu modules.
#pragma once

#include "gantry/Target/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace gantry {

/// A gpu module for an architecture.
struct GPUCode {
  mlir::gpu::GPUModuleOp module;
  std::string arch;        ///< "sm_90"
  std::string ptx;         ///< for it and all newer ones
  std::vector<char> cubin; ///< for it alone; empty: none was asked for, or none could be made
};

/// Code of every gpu module in `kernels` (LLVM dialect) for each architecture: the first one's
/// modules in order, then the next one's.
mlir::FailureOr<std::vector<GPUCode>>
emitGPUCode(mlir::ModuleOp kernels, llvm::ArrayRef<std::string> archs, const Assembler &assembler);

/// Whether emitGPUCode would have machine code made, as far as is known before there is PTX; says
/// so, as it does, where it cannot.
mlir::FailureOr<bool> hasAssembler(mlir::ModuleOp kernels, llvm::ArrayRef<std::string> archs,
                                   const Assembler &assembler);

/// PTX of all modules as one text, which ptxas takes, or the LLVM IR of one after the other.
mlir::FailureOr<std::string> printGPUCode(mlir::ModuleOp kernels, llvm::StringRef arch,
                                          Target::Text form);

} // namespace gantry
