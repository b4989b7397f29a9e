//===- Passes.td - Functions as arithmetic that every target has ----------===//
#ifndef GANTRY_ARITHMETIC_PASSES_TD
#define GANTRY_ARITHMETIC_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"gantry-expand-math"> {
  let summary = "replace functions of f32 and f64 by arithmetic";
  let description = [{
    exp, expm1, log, log1p, rsqrt, pow, erf, the trigonometric and hyperbolic functions with their
    inverses, and the remainder become operations that processors have and round correctly: sums,
    products, quotients, `math.fma`, `math.sqrt`, rounding, and integers for the bits. Numbers and
    vectors alike; each function's errors are in docs/Arithmetic.md. Fast-math flags of the op are
    not taken over, so that nothing below may change a bit. No branch and no load is added, but for a
    loop in the remainder, whose steps grow with the quotient. Other element types and other ops of
    `math` are left alone.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif
