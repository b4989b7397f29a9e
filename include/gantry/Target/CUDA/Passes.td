//===- Passes.td - Kernels as the code of GPU threads ---------------------===//
#ifndef GANTRY_TARGET_CUDA_PASSES_TD
#define GANTRY_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignLibrariesPass : Pass<"gantry-assign-libraries", "::mlir::ModuleOp"> {
  let summary = "choose the products that a library of GPUs is asked for before kernels of our own";
  let description = [{
    Marks `gantry.matmul`s with `by_library`, and takes marks of before away. Fusion leaves those alone, and their
    kernels get a variant of the library. Which ones, the `libraries` of `gantry.targets` say: with `cublasLt` all products that
    the library has, with `auto` those of f16, bf16 and, with `math = tf32`, f32 that it is estimated to compute in 1/1.2 of
    the time although a pass over the result comes behind it, whose lines begin at multiples of 16 bytes, and that are no part
    of attention; bf16 only where all architectures have tensor cores for it. The choice depends on the op, on what turns its
    operands and on the options, never on what follows it.

    Ops that are placed on devices of other drivers have none; before Place all are taken to be on GPUs. With `own` there are
    none by `auto`. Precondition: static shapes.
  }];
  let options = [
    Option<"own", "own", "bool", "false", "kernels of our own compute what an estimate would leave to a library">];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def NameLibraryProductsPass : Pass<"gantry-name-library-products", "::mlir::ModuleOp"> {
  let summary = "say on kernels what a library is asked for";
  let description = [{
    A kernel of a `gantry.matmul` with `by_library` gets the attribute `gantry.library_product`, the product as the
    library is told it, and the op loses its mark. Such an op that is not alone in its kernel, or that the library does not
    have, is an error.
  }];
  let dependentDialects = ["::gantry::GantryDialect"];
}

def EmitStructuredKernelsPass : Pass<"gantry-emit-gpu-lines", "::mlir::ModuleOp"> {
  let summary = "turn kernels with an order of their own into the code of GPU threads";
  let description = [{
    Kernels of one `gantry.attention`, `gantry.cumsum`, `gantry.top_k`, `gantry.scatter_elements` or `gantry.scatter_nd`
    become functions over memrefs. Of a cumulative sum a thread takes a line, or a block a long one;
    of top_k a block takes a row, which it sorts. Of a scatter a thread owns some elements and goes
    through all updates that may be for them, so that these apply in row-major order. The order of
    additions depends on the shape alone. Attention of f16 and bf16 is multiplied by tensor cores from sm_80 on.
    All other kernels are left alone.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def EmitThreadsPass : Pass<"gantry-emit-gpu-threads", "::mlir::ModuleOp"> {
  let summary = "turn functions of tensor ops into the code of GPU threads";
  let description = [{
    Precondition: functions of linalg and tensor ops over tensors of static shapes. Their arguments become memrefs,
    one more for each result. Each thread computes some neighbouring elements of a result from those
    that they depend on; no tensor in between is made, but for reductions that many elements share: a
    block of threads computes those of its rows first, into shared memory, or scratch memory where they
    are too many. `gpu.known_grid_size` and `gpu.known_block_size` say how many blocks of how many
    threads there are, `gantry.work` the scratch memory.
  }];
  let dependentDialects = ["::gantry::GantryDialect", "::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::affine::AffineDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::func::FuncDialect",
                           "::mlir::vector::VectorDialect"];
}

def MergeAccessesPass : Pass<"gantry-merge-gpu-accesses", "::mlir::func::FuncOp"> {
  let summary = "read and write neighbouring elements of a thread at once";
  let description = [{
    Precondition: code of GPU threads over memrefs, of which buffers and allocations whose size is a
    multiple of sixteen bytes are aligned to as much. Loads, or stores, in one block whose indices
    differ by constants that are neighbours become a `vector.load` or `vector.store` of up to sixteen
    bytes, where it is certain that it begins at a multiple of its size. Nothing moves across what may
    touch the same memory. Accesses without neighbours are left alone.
  }];
  let dependentDialects = ["::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect"];
}

def WriteMultiplyAddsPass : Pass<"gantry-write-multiply-adds", "::mlir::func::FuncOp"> {
  let summary = "write the multiply-adds of reductions as such, and drop all fast-math flags";
  let description = [{
    A product that may be contracted and is added right away becomes a `math.fma`. No flag remains, so
    that nothing below decides how a result is rounded.
  }];
  let dependentDialects = ["::mlir::math::MathDialect", "::mlir::arith::ArithDialect"];
}

def ChooseInstructionsPass : Pass<"gantry-choose-gpu-instructions", "::mlir::func::FuncOp"> {
  let summary = "write what GPUs have one instruction for as that: maxima and minima of f32";
  let description = [{
    `arith.maximumf` and `arith.minimumf` become LLVM's, and so does a choice between a number and a constant bound of
    it. NaN comes through; of two zeros either may.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def OutlineKernelsPass : Pass<"gantry-outline-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "put functions of GPU threads into gpu modules";
  let description = [{
    Each function with a `gpu.known_block_size` becomes a `gpu.func` that is a kernel: in a module
    `narrow`, `narrow_1`, … when 32 bits number all elements of all its buffers, else in a module `wide`,
    `wide_1`, …. A module holds at most eight kernels, those that follow each other. Allocations in shared memory become attributions of the function.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect"];
}

def LowerToNVVMPass : Pass<"gantry-lower-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lower a gpu module to the LLVM dialect with NVIDIA's intrinsics";
  let description = [{
    Control flow, memory and arithmetic of the module become the LLVM dialect; buffers are plain pointers.
    Indices have 32 bits in a module whose name begins with `narrow`, 64 in others.
  }];
}

#endif
