//===- RandomOps.td - Counter-based random numbers ------------------------===//
#ifndef GANTRY_RANDOM_OPS_TD
#define GANTRY_RANDOM_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"

/// Each element is a function of seed and position alone (Philox4x32-10, Salmon et al., "Parallel
/// random numbers: as easy as 1, 2, 3", SC 2011), so that results do not depend on threads or devices.
class Gantry_RandomOp<string mnemonic, string logName, string what, dag attributes, string values>
    : Gantry_Op<mnemonic, logName, "Generator", [CostOpInterface]> {
  let summary = "draw " # what # " numbers";
  let description = "Draws " # what # [{ numbers from a counter-based generator: element i depends on `seed`
    and i alone. The counter is (i mod 2^32, i / 2^32, 0, 0), the key the low and the high half of
    the seed; uniform numbers take the upper bits of the first word (f64: of the first two), normal
    ones are sqrt(-2 ln(1 - u)) cos(2 pi v) with u from the first word and v from the third.

    Example: `%y = gantry.}] # mnemonic # " {seed = 7 : i64, " # values # "} : () -> tensor<2x3xf32>`";
  let arguments = !con((ins I64Attr:$seed), attributes);
  let results = (outs Gantry_FloatTensor:$result);
  let assemblyFormat = functionalFormat;
}
def Gantry_RandomUniformOp : Gantry_RandomOp<"random_uniform", "RandomUniform",
  "uniform in [low, high)", (ins F64Attr:$low, F64Attr:$high),
  "low = 0.0 : f64, high = 1.0 : f64">;
def Gantry_RandomNormalOp : Gantry_RandomOp<"random_normal", "RandomStandardNormal",
  "normal", (ins F64Attr:$mean, F64Attr:$deviation),
  "mean = 0.0 : f64, deviation = 1.0 : f64">;

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
