//===- ShapeOps.td - Constants and movement of elements -------------------===//
#ifndef GANTRY_SHAPE_OPS_TD
#define GANTRY_SHAPE_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"

def Gantry_ConstantOp : Op<Gantry_Dialect, "constant", [ConstantLike, Pure,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "hold a tensor known at compile time";
  let description = [{
    Up to 1 KiB the elements stand in the attribute; larger ones are `dense_resource` blobs, which
    are mapped from the model file and never hashed or copied.

    Example: `%c = gantry.constant dense<[1.0, 2.0]> : tensor<2xf32>`
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Gantry_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

/// An op that moves elements without computing.
class Gantry_MoveOp<string mnemonic, string logName, list<Trait> traits = []>
    : Gantry_InferredOp<mnemonic, logName, "Movement", traits # [CostOpInterface]> {
  let assemblyFormat = functionalFormat;
}
/// The same where operands and attributes leave the result type open.
class Gantry_TypedMoveOp<string mnemonic, string logName, string kind = "Movement", list<Trait> traits = []>
    : Gantry_Op<mnemonic, logName, kind, traits # [CostOpInterface]> {
  let assemblyFormat = functionalFormat;
  let hasVerifier = 1;
}

def Gantry_ReshapeOp : Gantry_TypedMoveOp<"reshape", "Reshape", "View"> {
  let summary = "give the elements another shape";
  let description = [{
    The same elements in row-major order under the result's shape; no bytes move.

    Example: `%y = gantry.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input);
  let results = (outs Gantry_Tensor:$result);
  let hasFolder = 1;
}

def Gantry_TransposeOp : Gantry_MoveOp<"transpose", "Transpose"> {
  let summary = "permute the dimensions";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of the input.

    Example: `%y = gantry.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Gantry_Tensor:$result);
  let hasFolder = 1;
}

def Gantry_BroadcastOp : Gantry_TypedMoveOp<"broadcast", "BroadcastTo"> {
  let summary = "stretch dimensions of size 1";
  let description = [{
    Repeats the input to the result's shape, aligned at the last dimension as in NumPy.

    Example: `%y = gantry.broadcast %x : (tensor<3x1xf32>) -> tensor<2x3x4xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input);
  let results = (outs Gantry_Tensor:$result);
  let hasFolder = 1;
}

def Gantry_ConcatOp : Gantry_MoveOp<"concat", "ConcatV2"> {
  let summary = "join tensors along a dimension";
  let description = [{
    The inputs agree in all dimensions but `axis`.

    Example: `%y = gantry.concat %a, %b {axis = 0 : i64} : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>`
  }];
  let arguments = (ins Variadic<Gantry_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Gantry_Tensor:$result);
  let hasFolder = 1;
}

def Gantry_SliceOp : Gantry_MoveOp<"slice", "StridedSlice"> {
  let summary = "cut out a box, with steps";
  let description = [{
    Element i of the result is element starts + i * steps of the input, in each dimension; steps may
    be negative. `sizes` is the result's shape.

    Example: `%y = gantry.slice %x {starts = array<i64: 3, 0>, sizes = array<i64: 2, 4>, steps = array<i64: -1, 2>} : (tensor<4x8xf32>) -> tensor<2x4xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$steps);
  let results = (outs Gantry_Tensor:$result);
  let hasFolder = 1;
}

def Gantry_SplitOp : Gantry_MoveOp<"split", "SplitV"> {
  let summary = "cut a tensor into pieces along a dimension";
  let description = [{
    `sizes` are the extents of the pieces along `axis` and add up to the input's.

    Example: `%a, %b = gantry.split %x {axis = 0 : i64, sizes = array<i64: 1, 2>} : (tensor<3x4xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>)`
  }];
  let arguments = (ins Gantry_Tensor:$input, I64Attr:$axis, DenseI64ArrayAttr:$sizes);
  let results = (outs Variadic<Gantry_Tensor>:$results);
}

def Gantry_PadOp : Gantry_MoveOp<"pad", "PadV2"> {
  let summary = "add a border";
  let description = [{
    Adds `low` elements before and `high` after each dimension: the scalar `value`, or a reflection,
    repetition of the edge, or wrap-around of the input.

    Example: `%y = gantry.pad %x, %v {low = array<i64: 1>, high = array<i64: 2>, mode = #gantry<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>`
  }];
  let arguments = (ins Gantry_Tensor:$input, Gantry_Tensor:$value, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, Gantry_PadModeAttr:$mode);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_IotaOp : Gantry_TypedMoveOp<"iota", "Range", "Generator"> {
  let summary = "count up along a dimension";
  let description = [{
    Element at index i along `axis` is i.

    Example: `%y = gantry.iota {axis = 0 : i64} : () -> tensor<5xi64>`
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Gantry_NumberTensor:$result);
}

def Gantry_ResizeOp : Gantry_TypedMoveOp<"resize", "Resize", "Opaque"> {
  let summary = "sample an image at another resolution";
  let description = [{
    Resamples every dimension of the input to the result's shape. `scales` are result over input
    sizes as the graph gave them, `coordinate_mode` says which input coordinate an output index
    samples, `roi` (starts, then ends, normalised) and `extrapolation` belong to
    `tf_crop_and_resize`. Coordinates are computed in f64. Linear and cubic samples of integers are
    cut toward zero. Where a formula of ONNX needs the result's length, it is scale times input,
    not rounded.

    Example: `%y = gantry.resize %x {mode = #gantry<resize_mode linear>, coordinate_mode = #gantry<coordinate_mode half_pixel>, nearest_mode = #gantry<nearest_mode floor>, scales = array<f64: 1.0, 1.0, 2.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64} : (tensor<1x3x4xf32>) -> tensor<1x3x8xf32>`
  }];
  let arguments = (ins Gantry_NumberTensor:$input, Gantry_ResizeModeAttr:$mode,
                       Gantry_CoordinateModeAttr:$coordinate_mode, Gantry_NearestModeAttr:$nearest_mode,
                       DenseF64ArrayAttr:$scales, DenseF64ArrayAttr:$roi, F64Attr:$cubic_coefficient,
                       F64Attr:$extrapolation, UnitAttr:$exclude_outside);
  let results = (outs Gantry_NumberTensor:$result);
}

#endif
