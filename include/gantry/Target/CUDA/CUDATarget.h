// The CUDA target: kernels as PTX, for NVIDIA GPUs. Its machines are architectures, "sm_90".
#pragma once

#include "gantry/Target/Target.h"

namespace gantry {

/// As in `#gantry.target<"cuda">`.
inline constexpr llvm::StringLiteral kCUDATarget = "cuda";
/// The architecture that kernels are for unless another is asked for; newer ones run them as well.
inline constexpr llvm::StringLiteral kDefaultGPUArch = "sm_75";

/// How a kernel is launched, on the function that it becomes: three numbers of blocks, and of
/// threads of each.
inline constexpr llvm::StringLiteral kGridSizeAttr = "gpu.known_grid_size",
                                     kBlockSizeAttr = "gpu.known_block_size";

/// How the names of gpu modules begin: whose indices have 32 bits, and 64.
inline constexpr llvm::StringLiteral kNarrowModule = "narrow", kWideModule = "wide";

/// Makes it known to the process.
void registerCUDATarget();

/// Adds the passes from kernels (gantry.kernel) to functions of threads over memrefs.
void buildCUDAKernelPipeline(mlir::OpPassManager &pm);

/// Adds the passes from there to gpu modules of the LLVM dialect.
void buildNVVMPipeline(mlir::OpPassManager &pm);

/// From which on tensor cores multiply bf16 and tf32.
inline constexpr int64_t kTensorCoreArch = 80;

/// 90 for "sm_90".
int64_t gpuArchNumber(llvm::StringRef arch);

/// The number of the oldest architecture that kernels are for; that of the default where nothing is
/// said.
int64_t oldestGPUArch(TargetAttr config);
int64_t oldestGPUArch(mlir::ModuleOp kernels);

/// Whether products of f32 may be computed as tf32; not where nothing is said.
bool mayRoundToTF32(TargetAttr config);

/// The architectures that code can be made for, oldest first: sm_75 to sm_121.
llvm::ArrayRef<llvm::StringRef> knownGPUArchs();

} // namespace gantry
