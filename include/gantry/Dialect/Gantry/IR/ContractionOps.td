//===- ContractionOps.td - Matrix products, convolutions, pooling ---------===//
#ifndef GANTRY_CONTRACTION_OPS_TD
#define GANTRY_CONTRACTION_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"

class Gantry_ContractionOp<string mnemonic, string logName, string more = "">
    : Gantry_InferredOp<mnemonic, logName, "Contraction",
                        [DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>], more> {
  let assemblyFormat = functionalFormat;
}

def Gantry_MatmulOp : Gantry_ContractionOp<"matmul", "MatMul"> {
  let summary = "multiply matrices";
  let description = [{
    Multiplies the last two dimensions, [..., m, k] by [..., k, n] giving [..., m, n]; leading
    dimensions broadcast as in NumPy. `transpose_a` and `transpose_b` swap an operand's last two
    dimensions first. Sums are accumulated in f32 for f16 and bf16, else in the element type. Operands of 8-bit
    integers may differ in their sign; their sums are i32, exact modulo 2^32.

    `accumulate_type` = f32, of operands of f16 or bf16: the result is the accumulators as they are, and pairs
    of bf16 are added as processors add them (docs/Arithmetic.md). `block_quantized`: `rhs` is
    [n, bytes] of ui8, a row for each column of a matrix of f32 (with `transpose_b`). `by_library`: a library of
    GPUs is asked for it first, and it has a kernel of its own. Passes set all three.

    Example: `%c = gantry.matmul %a, %b {transpose_b} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>`
  }];
  let arguments = (ins Gantry_NumberTensor:$lhs, Gantry_NumberTensor:$rhs,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       Gantry_Accumulate:$accumulate_type,
                       Gantry_SetByPasses<Gantry_BlockQuantizedAttr>:$block_quantized,
                       Gantry_SetByPasses<UnitAttr>:$by_library);
  let results = (outs Gantry_NumberTensor:$result);
  let builders = [Gantry_GraphBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
    CArg<"bool", "false">:$transpose_a, CArg<"bool", "false">:$transpose_b),
    "lhs, rhs, transpose_a, transpose_b", "::mlir::TypeAttr(), BlockQuantizedAttr(), ::mlir::UnitAttr()">];
}

def Gantry_ConvOp : Gantry_ContractionOp<"conv", "Conv2D"> {
  let summary = "convolve a batch of images with filters";
  let description = [{
    Input [n, c, spatial...], filter [o, c / groups, window...], result [n, o, spatial...] with one
    to three spatial dimensions; a spatial size is
    floor((in + low + high - dilation (window - 1) - 1) / stride) + 1. Outside the input are zeros.
    Element types are those of `gantry.matmul`: 8-bit integers of either sign give i32.

    What passes set: `accumulate_type` as of `gantry.matmul`. `layout` NHWC: images are
    [n, spatial..., c] and the filter is packed, [o / panel, window..., c / groups, panel], so that its
    first and last dimension together count the output channels; filters of bf16 have 2 channels side by side,
    of bytes 4: [o / panel, window..., c / groups / 4, panel, 4]. `border`, of floating point: `plus_zero` adds +0
    behind the sums, so that one that underflowed to -0 is the same whether products with the border's
    zeros came after it or not; `unseen` says that nobody sees whether weights are multiplied by
    these zeros, so that kernels may leave the products out.

    Example: `%y = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>`
  }];
  let arguments = (ins Gantry_NumberTensor:$input, Gantry_NumberTensor:$filter,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads_low,
                       DenseI64ArrayAttr:$pads_high, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       Gantry_Accumulate:$accumulate_type, Gantry_Layout:$layout,
                       Gantry_SetByPasses<Gantry_BorderAttr>:$border);
  let results = (outs Gantry_NumberTensor:$result);
  let builders = [Gantry_GraphBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$filter,
    "::llvm::ArrayRef<int64_t>":$strides, "::llvm::ArrayRef<int64_t>":$pads_low,
    "::llvm::ArrayRef<int64_t>":$pads_high, "::llvm::ArrayRef<int64_t>":$dilations, "uint64_t":$groups),
    "input, filter, strides, pads_low, pads_high, dilations, groups",
    "::mlir::TypeAttr(), ImageLayoutAttr(), BorderAttr()">];
}

def Gantry_ConvTransposeOp : Gantry_ContractionOp<"conv_transpose", "Conv2DBackpropInput"> {
  let summary = "convolve transposed: spread each pixel over a window";
  let description = [{
    Input [n, c, spatial...], filter [c, o / groups, window...], result [n, o, spatial...]; a spatial
    size is stride (in - 1) + dilation (window - 1) + 1 - low - high + output_pads. Passes also make
    it of images [n, spatial..., c] with a packed filter [o / panel, window..., c, panel].

    Example: `%y = gantry.conv_transpose %x, %w {strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x3x4xf32>, tensor<3x2x3xf32>) -> tensor<1x2x9xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$input, Gantry_FloatTensor:$filter,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads_low,
                       DenseI64ArrayAttr:$pads_high, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$output_pads, I64Attr:$groups);
  let results = (outs Gantry_FloatTensor:$result);
}

class Gantry_PoolOp<string mnemonic, string logName, string what, Type type, dag more = (ins),
                    string moreValues = "", dag moreParameters = (ins), string moreNames = "">
    : Gantry_InferredOp<mnemonic, logName, "Reduction",
                        [DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
  let summary = "take the " # what # " of each window";
  let description = "Takes the " # what # [{ over windows of the spatial dimensions of [n, c, spatial...]; the
    border does not take part unless said so. Spatial sizes are as for `gantry.conv`, or rounded up
    with `ceil_mode` (a window then starts inside the input or its low border; what reaches beyond
    the high border never takes part). Passes set `layout` NHWC: images are [n, spatial..., c].

    Example: `%y = gantry.}] # mnemonic # [{ %x {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>}] # moreValues # [{} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>`}];
  let arguments = !con((ins type:$input, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads_low,
                       DenseI64ArrayAttr:$pads_high, DenseI64ArrayAttr:$dilations, UnitAttr:$ceil_mode),
                       more, (ins Gantry_Layout:$layout));
  let results = (outs type:$result);
  let builders = [Gantry_GraphBuilder<!con((ins "::mlir::Value":$input,
    "::llvm::ArrayRef<int64_t>":$window, "::llvm::ArrayRef<int64_t>":$strides,
    "::llvm::ArrayRef<int64_t>":$pads_low, "::llvm::ArrayRef<int64_t>":$pads_high,
    "::llvm::ArrayRef<int64_t>":$dilations, "bool":$ceil_mode), moreParameters),
    "input, window, strides, pads_low, pads_high, dilations, ceil_mode" # moreNames,
    "ImageLayoutAttr()">];
  let assemblyFormat = functionalFormat;
}
def Gantry_MaxPoolOp : Gantry_PoolOp<"max_pool", "MaxPool", "maximum", Gantry_NumberTensor>;
def Gantry_AvgPoolOp : Gantry_PoolOp<"avg_pool", "AvgPool", "mean", Gantry_FloatTensor,
  (ins UnitAttr:$count_include_pad), "", (ins CArg<"bool", "false">:$count_include_pad), ", count_include_pad">;
def Gantry_LpPoolOp : Gantry_PoolOp<"lp_pool", "LpPool", "p-norm", Gantry_FloatTensor, (ins F64Attr:$p), ", p = 2.0 : f64",
  (ins "::llvm::APFloat":$p), ", p">;

def Gantry_AttentionOp : Gantry_ContractionOp<"attention", "Attention"> {
  let summary = "attend: softmax(scale q k^T + mask) v";
  let description = [{
    Query [..., t, d], key [..., s, d], value [..., s, e], optional additive mask broadcast to
    [..., t, s]; result [..., t, e]. `causal` hides key j from query i where j > i.

    Example: `%y = gantry.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>`
  }];
  let arguments = (ins Gantry_FloatTensor:$query, Gantry_FloatTensor:$key, Gantry_FloatTensor:$value,
                       Optional<Gantry_FloatTensor>:$mask, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Gantry_FloatTensor:$result);
}

#endif
