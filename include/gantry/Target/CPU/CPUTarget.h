// The CPU target: a shared object of native code for each CPU that was asked for. It serves the
// host and the simulator, whose GPUs run the kernels of CPUs.
#pragma once

#include "gantry/Target/Target.h"

namespace gantry {

/// As in `#gantry.target<"cpu">`. Its machines are names of CPUs that LLVM knows, or "native" for
/// this machine; without any, native.
inline constexpr llvm::StringLiteral kCPUTarget = "cpu";

/// Makes it known to the process.
void registerCPUTarget();

/// Whether there is a CPU of that name, with the features behind it ("x86-64-v4+amx_bf16");
/// diagnoses what is wrong with it.
mlir::LogicalResult checkCPUName(mlir::Location loc, llvm::StringRef name);

/// Adds the passes from kernels (gantry.kernel) to functions over memrefs and loops, with
/// gantry.work on each.
void buildCPUKernelPipeline(mlir::OpPassManager &pm);

/// Adds the passes from there to the LLVM dialect.
void buildLLVMPipeline(mlir::OpPassManager &pm);

} // namespace gantry
