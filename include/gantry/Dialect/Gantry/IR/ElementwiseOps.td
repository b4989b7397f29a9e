//===- ElementwiseOps.td - One result element from one element of each ----===//
#ifndef GANTRY_ELEMENTWISE_OPS_TD
#define GANTRY_ELEMENTWISE_OPS_TD

include "gantry/Dialect/Gantry/IR/GantryBase.td"

/// Operands broadcast to each other as in NumPy: shapes are aligned at the last dimension, and a
/// dimension of size 1 stretches.
class Gantry_ElementwiseOp<string mnemonic, string logName, list<Trait> traits = [], string more = "">
    : Gantry_Op<mnemonic, logName, "Elementwise", traits # [
        DeclareOpInterfaceMethods<InferTypeOpInterface>, CostOpInterface,
        DimensionMapOpInterface], compatibleTypes # more> {
  let assemblyFormat = functionalFormat;
}

/// `values` are the attributes and `element` the element type of the example; `nan` says what becomes of
/// NaN.
class Gantry_UnaryOp<string mnemonic, string logName, string formula, Type type = Gantry_FloatTensor,
                     dag attributes = (ins), string values = "", string element = "f32",
                     string nan = "NaN in gives NaN out">
    : Gantry_ElementwiseOp<mnemonic, logName> {
  let summary = "compute " # formula # " of each element";
  let description = "Computes " # formula # " element by element; " # nan # [{.

    Example: `%y = gantry.}] # mnemonic # " %x " # values # ": (tensor<2x3x" # element # ">) -> tensor<2x3x" # element # ">`";
  let arguments = !con((ins type:$input), attributes);
  let results = (outs type:$result);
}

def Gantry_AbsOp : Gantry_UnaryOp<"abs", "Abs", "|x|", Gantry_NumberTensor>;
def Gantry_NegOp : Gantry_UnaryOp<"neg", "Neg", "-x", Gantry_NumberTensor>;
def Gantry_SignOp : Gantry_UnaryOp<"sign", "Sign", "the sign (-1, 0 or 1)", Gantry_NumberTensor>;
def Gantry_ExpOp : Gantry_UnaryOp<"exp", "Exp", "e^x">;
def Gantry_Expm1Op : Gantry_UnaryOp<"expm1", "Expm1", "e^x - 1">;
def Gantry_LogOp : Gantry_UnaryOp<"log", "Log", "the natural logarithm">;
def Gantry_Log1pOp : Gantry_UnaryOp<"log1p", "Log1p", "log(1 + x)">;
def Gantry_SqrtOp : Gantry_UnaryOp<"sqrt", "Sqrt", "the square root">;
def Gantry_RsqrtOp : Gantry_UnaryOp<"rsqrt", "Rsqrt", "1 / sqrt(x)">;
def Gantry_ReciprocalOp : Gantry_UnaryOp<"reciprocal", "Reciprocal", "1 / x">;
def Gantry_FloorOp : Gantry_UnaryOp<"floor", "Floor", "the largest integer not above x">;
def Gantry_CeilOp : Gantry_UnaryOp<"ceil", "Ceil", "the smallest integer not below x">;
def Gantry_RoundOp : Gantry_UnaryOp<"round", "Rint", "the nearest integer, ties to even">;
def Gantry_TruncOp : Gantry_UnaryOp<"trunc", "Trunc", "x without its fraction">;
def Gantry_SinOp : Gantry_UnaryOp<"sin", "Sin", "sin(x), x in radians">;
def Gantry_CosOp : Gantry_UnaryOp<"cos", "Cos", "cos(x), x in radians">;
def Gantry_TanOp : Gantry_UnaryOp<"tan", "Tan", "tan(x), x in radians">;
def Gantry_AsinOp : Gantry_UnaryOp<"asin", "Asin", "the inverse sine in radians">;
def Gantry_AcosOp : Gantry_UnaryOp<"acos", "Acos", "the inverse cosine in radians">;
def Gantry_AtanOp : Gantry_UnaryOp<"atan", "Atan", "the inverse tangent in radians">;
def Gantry_SinhOp : Gantry_UnaryOp<"sinh", "Sinh", "the hyperbolic sine">;
def Gantry_CoshOp : Gantry_UnaryOp<"cosh", "Cosh", "the hyperbolic cosine">;
def Gantry_TanhOp : Gantry_UnaryOp<"tanh", "Tanh", "the hyperbolic tangent">;
def Gantry_AsinhOp : Gantry_UnaryOp<"asinh", "Asinh", "the inverse hyperbolic sine">;
def Gantry_AcoshOp : Gantry_UnaryOp<"acosh", "Acosh", "the inverse hyperbolic cosine">;
def Gantry_AtanhOp : Gantry_UnaryOp<"atanh", "Atanh", "the inverse hyperbolic tangent">;
def Gantry_ErfOp : Gantry_UnaryOp<"erf", "Erf", "the error function">;
def Gantry_ReluOp : Gantry_UnaryOp<"relu", "Relu", "max(x, 0)", Gantry_NumberTensor>;
def Gantry_SigmoidOp : Gantry_UnaryOp<"sigmoid", "Sigmoid", "1 / (1 + e^-x)">;
def Gantry_SiluOp : Gantry_UnaryOp<"silu", "Silu", "x * sigmoid(x)">;
def Gantry_SoftplusOp : Gantry_UnaryOp<"softplus", "Softplus", "log(1 + e^x)">;
def Gantry_SoftsignOp : Gantry_UnaryOp<"softsign", "Softsign", "x / (1 + |x|)">;
def Gantry_MishOp : Gantry_UnaryOp<"mish", "Mish", "x * tanh(softplus(x))">;
def Gantry_HardSwishOp : Gantry_UnaryOp<"hard_swish", "HardSwish", "x * max(0, min(1, x/6 + 1/2))">;
def Gantry_GeluOp : Gantry_UnaryOp<"gelu", "Gelu",
  "x * (1 + erf(x / sqrt 2)) / 2, or with `approximate` 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
  Gantry_FloatTensor, (ins UnitAttr:$approximate)>;
def Gantry_EluOp : Gantry_UnaryOp<"elu", "Elu", "x, or alpha (e^x - 1) below 0",
  Gantry_FloatTensor, (ins F64Attr:$alpha),
  "{alpha = 1.0 : f64} ">;
def Gantry_CeluOp : Gantry_UnaryOp<"celu", "Celu", "max(0, x) + min(0, alpha (e^(x/alpha) - 1))",
  Gantry_FloatTensor, (ins F64Attr:$alpha),
  "{alpha = 1.0 : f64} ">;
def Gantry_SeluOp : Gantry_UnaryOp<"selu", "Selu", "gamma x, or gamma alpha (e^x - 1) at and below 0",
  Gantry_FloatTensor, (ins F64Attr:$alpha, F64Attr:$gamma),
  "{alpha = 1.67 : f64, gamma = 1.05 : f64} ">;
def Gantry_LeakyReluOp : Gantry_UnaryOp<"leaky_relu", "LeakyRelu", "x, or alpha x below 0",
  Gantry_FloatTensor, (ins F64Attr:$alpha),
  "{alpha = 0.01 : f64} ">;
def Gantry_ThresholdedReluOp : Gantry_UnaryOp<"thresholded_relu", "ThresholdedRelu", "x above alpha, otherwise 0",
  Gantry_FloatTensor, (ins F64Attr:$alpha),
  "{alpha = 1.0 : f64} ", "f32", "NaN gives 0">;
def Gantry_HardSigmoidOp : Gantry_UnaryOp<"hard_sigmoid", "HardSigmoid", "max(0, min(1, alpha x + beta))",
  Gantry_FloatTensor, (ins F64Attr:$alpha, F64Attr:$beta),
  "{alpha = 0.2 : f64, beta = 0.5 : f64} ">;
def Gantry_ShrinkOp : Gantry_UnaryOp<"shrink", "Shrink",
  "x + bias below -lambda, x - bias above lambda, otherwise 0",
  Gantry_NumberTensor, (ins F64Attr:$bias, F64Attr:$lambda),
  "{bias = 0.0 : f64, lambda = 0.5 : f64} ", "f32", "NaN gives 0">;
def Gantry_LogicalNotOp : Gantry_UnaryOp<"logical_not", "LogicalNot", "not x", Gantry_BoolTensor, (ins), "", "i1">;
def Gantry_BitwiseNotOp : Gantry_UnaryOp<"bitwise_not", "Invert", "the complement of the bits", Gantry_IntTensor, (ins), "", "i32">;

class Gantry_TestOp<string mnemonic, string logName, string question, dag attributes = (ins)>
    : Gantry_ElementwiseOp<mnemonic, logName> {
  let summary = "test whether each element is " # question;
  let description = "True where the element is " # question # [{.

    Example: `%y = gantry.}] # mnemonic # " %x : (tensor<4xf32>) -> tensor<4xi1>`";
  let arguments = !con((ins Gantry_FloatTensor:$input), attributes);
  let results = (outs Gantry_BoolTensor:$result);
}
def Gantry_IsNanOp : Gantry_TestOp<"is_nan", "IsNan", "not a number">;
def Gantry_IsInfOp : Gantry_TestOp<"is_inf", "IsInf",
  "infinite; `no_positive` and `no_negative` leave one sign out", (ins UnitAttr:$no_positive, UnitAttr:$no_negative)>;

class Gantry_BinaryOp<string mnemonic, string logName, string formula, Type type = Gantry_NumberTensor,
                      list<Trait> traits = [], string element = "f32">
    : Gantry_ElementwiseOp<mnemonic, logName, traits> {
  let summary = "compute " # formula # " element by element";
  let description = "Computes " # formula # [{ of operands of one element type, broadcast to each other.

    Example: `%c = gantry.}] # mnemonic # " %a, %b : (tensor<2x3x" # element # ">, tensor<3x" # element # ">) -> tensor<2x3x" # element # ">`";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
}
def Gantry_AddOp : Gantry_BinaryOp<"add", "AddV2", "a + b", Gantry_NumberTensor, [Commutative]>;
def Gantry_SubOp : Gantry_BinaryOp<"sub", "Sub", "a - b">;
def Gantry_MulOp : Gantry_BinaryOp<"mul", "Mul", "a * b", Gantry_NumberTensor, [Commutative]>;
def Gantry_DivOp : Gantry_BinaryOp<"div", "RealDiv", "a / b (integers: rounded toward zero, 0 where b is 0)">;
def Gantry_RemOp : Gantry_BinaryOp<"rem", "Mod", "the remainder of a / b with the sign of a (integers: 0 where b is 0)">;
def Gantry_ModOp : Gantry_BinaryOp<"mod", "FloorMod", "the remainder of a / b with the sign of b (integers: 0 where b is 0)">;
def Gantry_PowOp : Gantry_BinaryOp<"pow", "Pow", "a to the power b (integers: wraps; 1 / a^-b rounded toward zero where b is below 0)">;
def Gantry_MaximumOp : Gantry_BinaryOp<"maximum", "Maximum", "the larger of a and b", Gantry_NumberTensor, [Commutative]>;
def Gantry_MinimumOp : Gantry_BinaryOp<"minimum", "Minimum", "the smaller of a and b", Gantry_NumberTensor, [Commutative]>;
def Gantry_PreluOp : Gantry_BinaryOp<"prelu", "PRelu", "a, or a * b where a is below 0">;
def Gantry_LogicalAndOp : Gantry_BinaryOp<"logical_and", "LogicalAnd", "a and b", Gantry_BoolTensor, [Commutative], "i1">;
def Gantry_LogicalOrOp : Gantry_BinaryOp<"logical_or", "LogicalOr", "a or b", Gantry_BoolTensor, [Commutative], "i1">;
def Gantry_LogicalXorOp : Gantry_BinaryOp<"logical_xor", "LogicalXor", "a or b but not both", Gantry_BoolTensor, [Commutative], "i1">;
def Gantry_BitwiseAndOp : Gantry_BinaryOp<"bitwise_and", "BitwiseAnd", "the bits set in both", Gantry_IntTensor, [Commutative], "i32">;
def Gantry_BitwiseOrOp : Gantry_BinaryOp<"bitwise_or", "BitwiseOr", "the bits set in either", Gantry_IntTensor, [Commutative], "i32">;
def Gantry_BitwiseXorOp : Gantry_BinaryOp<"bitwise_xor", "BitwiseXor", "the bits set in one", Gantry_IntTensor, [Commutative], "i32">;
def Gantry_ShiftLeftOp : Gantry_BinaryOp<"shift_left", "LeftShift", "the bits of a moved up by b, zeros below (0 where b is outside [0, width))", Gantry_IntTensor, [], "ui32">;
def Gantry_ShiftRightOp : Gantry_BinaryOp<"shift_right", "RightShift", "the bits of a moved down by b, copies of the sign above where there is one (0 where b is outside [0, width))", Gantry_IntTensor, [], "ui32">;

def Gantry_CompareOp : Gantry_ElementwiseOp<"compare", "Compare"> {
  let summary = "compare two tensors element by element";
  let description = [{
    True where the relation holds between operands of one element type, broadcast to each other;
    comparisons with NaN are false, but for `ne`.

    Example: `%c = gantry.compare lt, %a, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>`
  }];
  let arguments = (ins Gantry_CompareDirectionAttr:$direction, Gantry_Tensor:$lhs, Gantry_Tensor:$rhs);
  let results = (outs Gantry_BoolTensor:$result);
  let assemblyFormat = "$direction `,` operands attr-dict `:` functional-type(operands, results)";
}

def Gantry_SelectOp : Gantry_ElementwiseOp<"select", "SelectV2"> {
  let summary = "choose between two tensors element by element";
  let description = [{
    Takes the element of `on_true` where `condition` holds, else that of `on_false`; the three are
    broadcast to each other.

    Example: `%c = gantry.select %p, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>`
  }];
  let arguments = (ins Gantry_BoolTensor:$condition, Gantry_Tensor:$on_true, Gantry_Tensor:$on_false);
  let results = (outs Gantry_Tensor:$result);
}

def Gantry_ClampOp : Gantry_ElementwiseOp<"clamp", "ClipByValue"> {
  let summary = "limit each element to a range";
  let description = [{
    Computes min(max(x, low), high); `low` and `high` broadcast.

    Example: `%y = gantry.clamp %x, %lo, %hi : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>`
  }];
  let arguments = (ins Gantry_NumberTensor:$input, Gantry_NumberTensor:$low, Gantry_NumberTensor:$high);
  let results = (outs Gantry_NumberTensor:$result);
}

def Gantry_AddNOp : Gantry_ElementwiseOp<"add_n", "AddN"> {
  let summary = "add several tensors";
  let description = [{
    Adds one or more tensors of the same type, from left to right.

    Example: `%s = gantry.add_n %a, %b, %c : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>`
  }];
  let arguments = (ins Variadic<Gantry_NumberTensor>:$inputs);
  let results = (outs Gantry_NumberTensor:$result);
}

def Gantry_CastOp : Gantry_Op<"cast", "Cast", "Elementwise", [CostOpInterface, DimensionMapOpInterface,
    SameOperandsAndResultShape]> {
  let summary = "convert the element type";
  let description = [{
    Converts each element: floats to integers toward zero and saturating at the ends of the type,
    NaN to 0; numbers to i1 as "is not zero", i1 to 0 and 1, narrower floats to nearest even, f64 to
    f16 and bf16 by way of f32; integers to narrower ones by dropping the upper bits.

    Example: `%y = gantry.cast %x : (tensor<4xf32>) -> tensor<4xi64>`
  }];
  let arguments = (ins Gantry_Tensor:$input);
  let results = (outs Gantry_Tensor:$result);
  let assemblyFormat = functionalFormat;
  let hasFolder = 1;
}

#endif
