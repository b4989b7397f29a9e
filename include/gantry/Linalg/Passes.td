//===- Passes.td - Kernels in terms that targets share --------------------===//
#ifndef GANTRY_LINALG_PASSES_TD
#define GANTRY_LINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerKernelsToLinalgPass : Pass<"gantry-lower-kernels-to-linalg", "::mlir::ModuleOp"> {
  let summary = "turn kernels of gantry ops into functions of linalg ops";
  let description = [{
    Each `gantry.kernel` becomes a private `func.func` of the same name over tensors, its ops
    linalg, tensor, arith, math and scf ops. Unsigned element types become signless; the ops chosen
    keep their meaning. Shapes must be static. Ops outside kernels are left alone.

    Kernels keep their place and order in the module.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::func::FuncDialect"];
}

def FuseGenericsPass : Pass<"gantry-fuse-generics", "::mlir::func::FuncOp"> {
  let summary = "make one op of a chain of elementwise ones";
  let description = [{
    Elementwise `linalg.generic` ops join their consumers when these are their only users. Scalars
    and splats move into the bodies. Reshapes stay where they are, unlike with upstream's pass, so
    that a contraction and what follows it keep the same loops.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect"];
}

def MergeGenericsPass : Pass<"gantry-merge-generics", "::mlir::func::FuncOp"> {
  let summary = "make one op of those that make the results of a kernel";
  let description = [{
    Of a kernel with several results: where all its `linalg.generic` ops go through the same elements and
    each writes one for each, one op makes all results. What one made for another is a scalar in its body.
    Sums over the rows of the same elements become one op, too, with what is computed in front of them alone.
    Where other results are left, the last op passes them on, so that it makes all. Other kernels are left alone.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def AddDestinationsPass : Pass<"gantry-add-destinations", "::mlir::func::FuncOp"> {
  let summary = "make a kernel write its results to given buffers";
  let description = [{
    The function's tensors become memrefs: arguments first, then one per result, which is written
    instead of returned. Reshapes before a result disappear, the buffer takes the shape before them.
    The pieces of a `tensor.concat` are written to their places in the result; one that other ops
    read becomes a chain of insertions.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"];
}

def CollapseLoopsPass : Pass<"gantry-collapse-loops", "::mlir::func::FuncOp"> {
  let summary = "merge loops that run over memory without a gap";
  let description = [{
    Precondition: `linalg.generic` on memrefs with static shapes. Neighbouring loops over dimensions
    that lie one after the other in every operand that uses them become one loop; windows of size 1
    disappear from indices. So a 1x1 convolution is a matrix product, and elementwise work on small
    images one long loop. Ops with gaps between their rows are left alone.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect"];
}

#endif
