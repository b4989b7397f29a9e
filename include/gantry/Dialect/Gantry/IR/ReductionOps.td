//===- ReductionOps.td - Reductions, softmax, normalisations --------------===//
#ifndef GANTRY_REDUCTION_OPS_TD
#define GANTRY_REDUCTION_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"

class Gantry_ReduceOp<string mnemonic, string logName, string what>
    : Gantry_InferredOp<mnemonic, logName, "Reduction", [CostOpInterface]> {
  let summary = "take the " # what # " over some dimensions";
  let description = "Takes the " # what # [{ over `axes`, which disappear, or stay with size 1 under `keep_dims`.
    Integers wrap, and their mean is rounded toward zero; NaN wins over every number. Of no elements
    the sum is 0, the product 1, the maximum -inf or the least integer, the minimum inf or the largest
    one, and the mean NaN, for integers 0.

    Example: `%y = gantry.}] # mnemonic # [{ %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>`}];
  let arguments = (ins Gantry_NumberTensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keep_dims);
  let results = (outs Gantry_NumberTensor:$result);
  let assemblyFormat = functionalFormat;
}
def Gantry_ReduceSumOp : Gantry_ReduceOp<"reduce_sum", "Sum", "sum">;
def Gantry_ReduceMeanOp : Gantry_ReduceOp<"reduce_mean", "Mean", "mean">;
def Gantry_ReduceMaxOp : Gantry_ReduceOp<"reduce_max", "Max", "maximum">;
def Gantry_ReduceMinOp : Gantry_ReduceOp<"reduce_min", "Min", "minimum">;
def Gantry_ReduceProdOp : Gantry_ReduceOp<"reduce_prod", "Prod", "product">;

class Gantry_ArgOp<string mnemonic, string logName, string what>
    : Gantry_InferredOp<mnemonic, logName, "Reduction", [CostOpInterface]> {
  let summary = "find the index of the " # what # " along a dimension";
  let description = "Finds the first index of the " # what # [{ along `axis`, or the last one with `last`; the
    dimension disappears, or stays with size 1 under `keep_dims`. NaN wins over every number. The
    dimension has elements, since none has an index.

    Example: `%i = gantry.}] # mnemonic # [{ %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>`}];
  let arguments = (ins Gantry_NumberTensor:$input, I64Attr:$axis, UnitAttr:$keep_dims, UnitAttr:$last);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = functionalFormat;
}
def Gantry_ArgmaxOp : Gantry_ArgOp<"argmax", "ArgMax", "largest element">;
def Gantry_ArgminOp : Gantry_ArgOp<"argmin", "ArgMin", "smallest element">;

/// An op whose result has the type of its first operand.
class Gantry_SameAsFirstOp<string mnemonic, string logName, list<Trait> traits = []>
    : Gantry_InferredOp<mnemonic, logName, "Reduction", traits # [CostOpInterface]> {
  let assemblyFormat = functionalFormat;
}

class Gantry_SoftmaxLikeOp<string mnemonic, string logName, string formula>
    : Gantry_SameAsFirstOp<mnemonic, logName> {
  let summary = "compute " # formula # " along a dimension";
  let description = "Computes " # formula # [{ along `axis`, after subtracting the maximum, which keeps the
    exponentials finite.

    Example: `%y = gantry.}] # mnemonic # [{ %x {axis = 1 : i64} : (tensor<2x10xf32>) -> tensor<2x10xf32>`}];
  let arguments = (ins Gantry_FloatTensor:$input, I64Attr:$axis);
  let results = (outs Gantry_FloatTensor:$result);
}
def Gantry_SoftmaxOp : Gantry_SoftmaxLikeOp<"softmax", "Softmax", "e^x / sum(e^x)">;
def Gantry_LogSoftmaxOp : Gantry_SoftmaxLikeOp<"log_softmax", "LogSoftmax", "x - log(sum(e^x))">;

def Gantry_LayerNormOp : Gantry_SameAsFirstOp<"layer_norm", "LayerNorm"> {
  let summary = "normalise over the last dimensions";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) * scale + bias, mean and variance over dimensions `axis`
    to the last; scale and bias broadcast to the input.

    Example: `%y = gantry.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$input, Gantry_FloatTensor:$scale,
                       Optional<Gantry_FloatTensor>:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Gantry_FloatTensor:$result);
}

def Gantry_RmsNormOp : Gantry_SameAsFirstOp<"rms_norm", "RMSNorm"> {
  let summary = "divide by the root mean square over the last dimensions";
  let description = [{
    x / sqrt(mean(x^2) + epsilon) * scale, the mean over dimensions `axis` to the last; scale
    broadcasts to the input.

    Example: `%y = gantry.rms_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$input, Gantry_FloatTensor:$scale, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Gantry_FloatTensor:$result);
}

def Gantry_BatchNormOp : Gantry_InferredOp<"batch_norm", "FusedBatchNormV3", "Elementwise",
    [CostOpInterface, DeclareOpInterfaceMethods<DimensionMapOpInterface, ["getOperandDims"]>]> {
  let summary = "normalise each channel with given statistics";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) * scale + bias for [n, c, ...], the four each of shape [c].
    This is the inference form, an elementwise op that joins what comes before it. Passes set `layout` NHWC:
    images are [n, ..., c].

    Example: `%y = gantry.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-5 : f64} : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$input, Gantry_FloatTensor:$scale, Gantry_FloatTensor:$bias,
                       Gantry_FloatTensor:$mean, Gantry_FloatTensor:$variance, F64Attr:$epsilon,
                       Gantry_Layout:$layout);
  let results = (outs Gantry_FloatTensor:$result);
  let builders = [Gantry_GraphBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$scale,
    "::mlir::Value":$bias, "::mlir::Value":$mean, "::mlir::Value":$variance, "::llvm::APFloat":$epsilon),
    "input, scale, bias, mean, variance, epsilon", "ImageLayoutAttr()">];
  let assemblyFormat = functionalFormat;
}

def Gantry_GroupNormOp : Gantry_SameAsFirstOp<"group_norm", "GroupNorm"> {
  let summary = "normalise over groups of channels";
  let description = [{
    For [n, c, ...]: channels form `groups` groups, each normalised with its own mean and variance
    over channels of the group and all spatial dimensions; then scale and bias per channel, of shape
    [c]. With as many groups as channels this is instance normalisation.

    Example: `%y = gantry.group_norm %x, %s, %b {groups = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<1x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$input, Gantry_FloatTensor:$scale, Gantry_FloatTensor:$bias,
                       I64Attr:$groups, F64Attr:$epsilon);
  let results = (outs Gantry_FloatTensor:$result);
}

def Gantry_LrnOp : Gantry_SameAsFirstOp<"lrn", "LRN"> {
  let summary = "normalise over neighbouring channels";
  let description = [{
    x / (bias + alpha / size * sum(x^2 over `size` channels around))^beta, for [n, c, ...]; the
    window is floor((size-1)/2) channels before and ceil((size-1)/2) after, cut at the ends.

    Example: `%y = gantry.lrn %x {size = 5 : i64, alpha = 1.0e-4 : f64, beta = 0.75 : f64, bias = 1.0 : f64} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$input, I64Attr:$size, F64Attr:$alpha, F64Attr:$beta, F64Attr:$bias);
  let results = (outs Gantry_FloatTensor:$result);
}

def Gantry_CumsumOp : Gantry_SameAsFirstOp<"cumsum", "Cumsum"> {
  let summary = "sum up along a dimension";
  let description = [{
    Element i along `axis` is the sum of elements 0..i; `exclusive` leaves element i itself out,
    `reverse` sums from the end.

    Example: `%y = gantry.cumsum %x {axis = 0 : i64} : (tensor<5xf32>) -> tensor<5xf32>`
  }];
  let arguments = (ins Gantry_NumberTensor:$input, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Gantry_NumberTensor:$result);
}

def Gantry_TopKOp : Gantry_InferredOp<"top_k", "TopKV2", "Opaque", [CostOpInterface]> {
  let summary = "find the k largest or smallest elements along a dimension";
  let description = [{
    Values and indices along `axis`, best first; of equal elements the lower index comes first. NaN
    counts as larger than every number.

    Example: `%v, %i = gantry.top_k %x {axis = 1 : i64, k = 2 : i64} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)`
  }];
  let arguments = (ins Gantry_NumberTensor:$input, I64Attr:$axis, I64Attr:$k, UnitAttr:$smallest);
  let results = (outs Gantry_NumberTensor:$values, RankedTensorOf<[I64]>:$indices);
  let assemblyFormat = functionalFormat;
}

#endif
