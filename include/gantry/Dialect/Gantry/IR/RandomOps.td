//===- RandomOps.td - Counter-based random numbers ------------------------===//
#ifndef GANTRY_RANDOM_OPS_TD
#define GANTRY_RANDOM_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"

/// Each element is a function of key, stream and position alone (Philox4x32-10, Salmon et al., "Parallel
/// random numbers: as easy as 1, 2, 3", SC 2011), so that results do not depend on threads or devices.
class Gantry_RandomOp<string mnemonic, string logName, string what, dag attributes, string values>
    : Gantry_Op<mnemonic, logName, "Generator", [CostOpInterface]> {
  let summary = "draw " # what # " numbers";
  let description = "Draws " # what # [{ numbers from a counter-based generator: element i depends on the
    key, on `stream` (0 unless given) and on i alone. The key is known when compiling, as `seed`, or an
    operand, a scalar, so that each run draws others; one of the two is given, and equal ones give the
    same numbers. `stream`, in [0, 2^32), tells draws of one key apart. The counter is (i mod 2^32,
    i / 2^32, 0, stream), Philox's key the low and the high half of the 64 bits; uniform
    numbers take the upper bits of the first word (f64: of the first two), normal ones are
    sqrt(-2 ln(1 - u)) cos(2 pi v) with u from the first word and v from the third.

    Where the result is a part of a value that several devices draw, `whole` is the shape of that value
    and `begin` the place of the part in it: i is counted in the whole, so that the parts together are
    what one device would draw.

    Example: `%y = gantry.}] # mnemonic # " %key {" # values # ", stream = 1 : i64} : (tensor<i64>) -> tensor<2x3xf32>`";
  let arguments = !con((ins Optional<RankedTensorOf<[I64]>>:$key, OptionalAttr<I64Attr>:$seed), attributes,
                       (ins OptionalAttr<I64Attr>:$stream, OptionalAttr<DenseI64ArrayAttr>:$whole,
                            OptionalAttr<DenseI64ArrayAttr>:$begin));
  let results = (outs Gantry_FloatTensor:$result);
  let assemblyFormat = functionalFormat;
  let hasVerifier = 1;
}
def Gantry_RandomUniformOp : Gantry_RandomOp<"random_uniform", "RandomUniform",
  "uniform in [low, high)", (ins F64Attr:$low, F64Attr:$high),
  "low = 0.0 : f64, high = 1.0 : f64"> {
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "uint64_t":$seed, "const ::llvm::APFloat &":$low,
                                 "const ::llvm::APFloat &":$high), [{
    build($_builder, $_state, result, ::mlir::Value(), $_builder.getI64IntegerAttr(seed), low, high, ::mlir::IntegerAttr(),
          ::mlir::DenseI64ArrayAttr(), ::mlir::DenseI64ArrayAttr());
  }]>];
}
def Gantry_RandomNormalOp : Gantry_RandomOp<"random_normal", "RandomStandardNormal",
  "normal", (ins F64Attr:$mean, F64Attr:$deviation),
  "mean = 0.0 : f64, deviation = 1.0 : f64"> {
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "uint64_t":$seed, "const ::llvm::APFloat &":$mean,
                                 "const ::llvm::APFloat &":$deviation), [{
    build($_builder, $_state, result, ::mlir::Value(), $_builder.getI64IntegerAttr(seed), mean, deviation, ::mlir::IntegerAttr(),
          ::mlir::DenseI64ArrayAttr(), ::mlir::DenseI64ArrayAttr());
  }]>];
}

def Gantry_DropoutOp : Gantry_InferredOp<"dropout", "Dropout", "Elementwise", [CostOpInterface,
    DimensionMapOpInterface]> {
  let summary = "drop elements while training";
  let description = [{
    At inference the identity; Simplify removes it.

    Example: `%y = gantry.dropout %x {ratio = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$input, F64Attr:$ratio);
  let results = (outs Gantry_FloatTensor:$result);
  let assemblyFormat = functionalFormat;
  let hasFolder = 1;
}

#endif
