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

#endif
