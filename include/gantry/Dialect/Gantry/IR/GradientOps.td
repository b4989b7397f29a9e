//===- GradientOps.td - Differentiation, and ops that ways back are made of ===//
#ifndef GANTRY_GRADIENT_OPS_TD
#define GANTRY_GRADIENT_OPS_TD

include "gantry/Dialect/Gantry/IR/ContractionOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

//===----------------------------------------------------------------------===//
// What is to be differentiated, and how; none remain after Simplify
//===----------------------------------------------------------------------===//

/// A region that runs once, with rules of its own for the way back.
class Gantry_GradientRegionOp<string mnemonic, list<string> methods = []>
    : Op<Gantry_Dialect, mnemonic, [SingleBlock, RecursiveMemoryEffects,
        SingleBlockImplicitTerminator<"YieldOp">,
        DeclareOpInterfaceMethods<RegionBranchOpInterface, methods>]> {
  let hasVerifier = 1;
  string declaration = [{
    /// What may go along an edge of control flow: types that differ in open dimensions alone.
    bool areTypesCompatible(::mlir::Type lhs, ::mlir::Type rhs) {
      return ::gantry::detail::areCompatibleTypes(lhs, rhs);
    }
  }];
}

def Gantry_GradientOp : Gantry_GradientRegionOp<"gradient", ["getEntrySuccessorOperands"]> {
  let summary = "run a region and differentiate it";
  let description = [{
    The results are what the region yields, then one gradient for each operand, of the operand's type.
    The region takes the operands; values from outside are constants to it. Without `seeds` the first
    value that is yielded, a scalar of floats, is what is differentiated. With `seeds N` the last N
    operands are no operands of the region but cotangents of the first N values: the gradients are those
    of the sum of the values times the cotangents (a vector-Jacobian product).

    An operand that the first values do not depend on is an error, or with `allow_unused` has a gradient
    of zeros; so has one that they depend on by ops alone whose gradient is zero everywhere, as
    `gantry.floor`. Ties, and what each op gives, are in `Gradients.md`. Gradients may stand inside of
    gradients. Simplify replaces the op by the ops of its region and those of the way back.

    Example:
    ```mlir
    func.func @step(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>) -> (tensor<f32>, tensor<4x2xf32>) {
      %loss, %dw = gantry.gradient (%w) : (tensor<4x2xf32>) -> (tensor<f32>, tensor<4x2xf32>) {
      ^bb0(%v: tensor<4x2xf32>):
        %0 = gantry.matmul %x, %v : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
        %1 = gantry.mul %0, %0 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
        %2 = gantry.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
        gantry.yield %2 : tensor<f32>
      }
      return %loss, %dw : tensor<f32>, tensor<4x2xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Gantry_Tensor>:$values, OptionalAttr<I64Attr>:$seeds,
                       UnitAttr:$allow_unused);
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $values `)` (`seeds` $seeds^)? (`allow_unused` $allow_unused^)? `:`
    functional-type($values, $results) $body attr-dict
  }];
  let extraClassDeclaration = declaration # [{
    unsigned getNumSeeds() { return getSeeds().value_or(0); }
    /// What is differentiated with respect to; the region takes it.
    ::mlir::OperandRange getWrt() { return getValues().drop_back(getNumSeeds()); }
    ::mlir::OperandRange getCotangents() { return getValues().take_back(getNumSeeds()); }
    ::mlir::ResultRange getYielded() { return getResults().drop_back(getWrt().size()); }
    ::mlir::ResultRange getGradients() { return getResults().take_back(getWrt().size()); }
  }];
}

def Gantry_CheckpointOp : Gantry_GradientRegionOp<"checkpoint"> {
  let summary = "run a region, and once more on the way back";
  let description = [{
    Where the op is differentiated, nothing of what its region computes is kept for the way back, which
    computes it again from what the region reads from outside. Elsewhere it is its region. Simplify
    replaces it; what is computed again has the attribute `gantry.again`.

    Example:
    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = gantry.checkpoint -> (tensor<4xf32>) {
        %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
        %1 = gantry.sin %0 : (tensor<4xf32>) -> tensor<4xf32>
        gantry.yield %1 : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
  }];
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`->` `(` type($results)^ `)`)? $body attr-dict";
  let extraClassDeclaration = declaration;
}

def Gantry_CustomGradientOp : Gantry_GradientRegionOp<"custom_gradient", ["getEntrySuccessorOperands"]> {
  let summary = "run a region that has a gradient of its own";
  let description = [{
    The first region takes the operands and yields the results. The second one takes the operands, the
    results and a cotangent for each result of floats, and yields a gradient for each operand of floats. It is what
    a `gantry.gradient` around the op uses; elsewhere the op is its first region. Values that the
    regions read from outside are constants. Simplify replaces the op.

    Example:
    ```mlir
    func.func @clipped(%x: tensor<4xf32>, %limit: tensor<f32>) -> tensor<4xf32> {
      %y = gantry.custom_gradient (%x) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%a: tensor<4xf32>):
        gantry.yield %a : tensor<4xf32>
      } backward {
      ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %db: tensor<4xf32>):
        %0 = gantry.minimum %db, %limit : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
        gantry.yield %0 : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Gantry_Tensor>:$values);
  let results = (outs Variadic<Gantry_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$backward);
  let assemblyFormat = [{
    `(` $values `)` `:` functional-type($values, $results) $body `backward` $backward attr-dict
  }];
  let extraClassDeclaration = declaration;
}

def Gantry_StopGradientOp : Op<Gantry_Dialect, "stop_gradient", [Pure, SameOperandsAndResultType]> {
  let summary = "give a value that is not differentiated";
  let description = [{
    The operand, which counts as a constant where the result is differentiated. Simplify removes it.

    Example: `%y = gantry.stop_gradient %x : tensor<4xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input);
  let results = (outs Gantry_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

//===----------------------------------------------------------------------===//
// What ways back are made of
//===----------------------------------------------------------------------===//

def Gantry_ConvFilterGradOp : Gantry_ContractionOp<"conv_filter_grad", "Conv2DBackpropFilter"> {
  let summary = "sum up what a filter of a convolution gets";
  let description = [{
    The gradient of the filter of a `gantry.conv` of `input` [n, c, spatial...], which gave a result that has
    the cotangent `cotangent` [n, o, spatial...]: [o, c / groups, window...], each element the sum over images and places
    of the cotangent times the input that the element was multiplied by. `window` is the filter's spatial
    shape, the other attributes are those of the convolution. Sums are accumulated in f32 for f16 and
    bf16, else in the element type.

    Example: `%w = gantry.conv_filter_grad %x, %d {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<4x3x3x3xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$input, Gantry_FloatTensor:$cotangent,
                       DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups);
  let results = (outs Gantry_FloatTensor:$result);
}

def Gantry_PlacesTensor : RankedTensorOf<[UI8, I32]>;
defvar windowAttributes = (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                               DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
                               DenseI64ArrayAttr:$dilations);

def Gantry_MaxPoolIndexOp : Gantry_InferredOp<"max_pool_index", "MaxPoolIndex", "Opaque",
                                              [DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
  let summary = "find the place of the maximum in each window";
  let description = [{
    For windows as those of `gantry.max_pool`: the place of the largest element in its window, counted in
    row-major order, the first one of equals; NaN is larger than every number. Where a window holds
    nothing but border it is the number of places. Up to 255 places the result is of ui8, else of i32.

    Example: `%i = gantry.max_pool_index %x {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xui8>`
  }];
  let arguments = !con((ins Gantry_FloatTensor:$input), windowAttributes, (ins UnitAttr:$ceil_mode));
  let results = (outs Gantry_PlacesTensor:$result);
  let assemblyFormat = functionalFormat;
}

def Gantry_PoolSpreadOp : Gantry_InferredOp<"pool_spread", "MaxPoolGrad", "Opaque",
                                            [DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
  let summary = "give each window's value to one place of it";
  let description = [{
    `values` has a value for each window, `places` where in its window that value belongs (as
    `gantry.max_pool_index` counts them). The result has the spatial shape `sizes`, that of what the
    windows lay over; each element is the sum of the values that belong to it. What belongs outside
    goes nowhere.

    Example: `%x = gantry.pool_spread %v, %i {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, sizes = array<i64: 8>} : (tensor<1x3x4xf32>, tensor<1x3x4xui8>) -> tensor<1x3x8xf32>`
  }];
  let arguments = !con((ins Gantry_FloatTensor:$values, Gantry_PlacesTensor:$places), windowAttributes,
                       (ins DenseI64ArrayAttr:$sizes));
  let results = (outs Gantry_FloatTensor:$result);
  let assemblyFormat = functionalFormat;
}

def Gantry_PoolPickOp : Gantry_InferredOp<"pool_pick", "MaxPoolGradGrad", "Opaque", [CostOpInterface]> {
  let summary = "take one element of each window";
  let description = [{
    The element of `input` at the place in its window that `places` says (as `gantry.max_pool_index` counts
    them), 0 where that is outside. The other way round it is `gantry.pool_spread`: each is the gradient of the other.

    Example: `%v = gantry.pool_pick %x, %i {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<1x3x4xui8>) -> tensor<1x3x4xf32>`
  }];
  let arguments = !con((ins Gantry_FloatTensor:$input, Gantry_PlacesTensor:$places), windowAttributes);
  let results = (outs Gantry_FloatTensor:$result);
  let assemblyFormat = functionalFormat;
}

#endif
