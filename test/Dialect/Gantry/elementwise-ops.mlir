// Elementwise ops: one result element from one element of each operand, broadcast.
// Every op prints what it was read from, as text and as bytecode.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK-LABEL: @abs(
// CHECK: gantry.abs %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @abs(%x: tensor<2x3xf32>) {
  %y = gantry.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @neg(
// CHECK: gantry.neg %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @neg(%x: tensor<2x3xf32>) {
  %y = gantry.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @sign(
// CHECK: gantry.sign %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sign(%x: tensor<2x3xf32>) {
  %y = gantry.sign %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @exp(
// CHECK: gantry.exp %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @exp(%x: tensor<2x3xf32>) {
  %y = gantry.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @expm1(
// CHECK: gantry.expm1 %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @expm1(%x: tensor<2x3xf32>) {
  %y = gantry.expm1 %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @log(
// CHECK: gantry.log %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @log(%x: tensor<2x3xf32>) {
  %y = gantry.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @log1p(
// CHECK: gantry.log1p %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @log1p(%x: tensor<2x3xf32>) {
  %y = gantry.log1p %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @sqrt(
// CHECK: gantry.sqrt %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sqrt(%x: tensor<2x3xf32>) {
  %y = gantry.sqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @rsqrt(
// CHECK: gantry.rsqrt %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @rsqrt(%x: tensor<2x3xf32>) {
  %y = gantry.rsqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @reciprocal(
// CHECK: gantry.reciprocal %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @reciprocal(%x: tensor<2x3xf32>) {
  %y = gantry.reciprocal %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @floor(
// CHECK: gantry.floor %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @floor(%x: tensor<2x3xf32>) {
  %y = gantry.floor %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @ceil(
// CHECK: gantry.ceil %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @ceil(%x: tensor<2x3xf32>) {
  %y = gantry.ceil %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @round(
// CHECK: gantry.round %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @round(%x: tensor<2x3xf32>) {
  %y = gantry.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @trunc(
// CHECK: gantry.trunc %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @trunc(%x: tensor<2x3xf32>) {
  %y = gantry.trunc %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @sin(
// CHECK: gantry.sin %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sin(%x: tensor<2x3xf32>) {
  %y = gantry.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @cos(
// CHECK: gantry.cos %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @cos(%x: tensor<2x3xf32>) {
  %y = gantry.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @tan(
// CHECK: gantry.tan %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @tan(%x: tensor<2x3xf32>) {
  %y = gantry.tan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @asin(
// CHECK: gantry.asin %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @asin(%x: tensor<2x3xf32>) {
  %y = gantry.asin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @acos(
// CHECK: gantry.acos %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @acos(%x: tensor<2x3xf32>) {
  %y = gantry.acos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @atan(
// CHECK: gantry.atan %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @atan(%x: tensor<2x3xf32>) {
  %y = gantry.atan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @sinh(
// CHECK: gantry.sinh %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sinh(%x: tensor<2x3xf32>) {
  %y = gantry.sinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @cosh(
// CHECK: gantry.cosh %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @cosh(%x: tensor<2x3xf32>) {
  %y = gantry.cosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @tanh(
// CHECK: gantry.tanh %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @tanh(%x: tensor<2x3xf32>) {
  %y = gantry.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @asinh(
// CHECK: gantry.asinh %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @asinh(%x: tensor<2x3xf32>) {
  %y = gantry.asinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @acosh(
// CHECK: gantry.acosh %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @acosh(%x: tensor<2x3xf32>) {
  %y = gantry.acosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @atanh(
// CHECK: gantry.atanh %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @atanh(%x: tensor<2x3xf32>) {
  %y = gantry.atanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @erf(
// CHECK: gantry.erf %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @erf(%x: tensor<2x3xf32>) {
  %y = gantry.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @relu(
// CHECK: gantry.relu %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @relu(%x: tensor<2x3xf32>) {
  %y = gantry.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @sigmoid(
// CHECK: gantry.sigmoid %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @sigmoid(%x: tensor<2x3xf32>) {
  %y = gantry.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @silu(
// CHECK: gantry.silu %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @silu(%x: tensor<2x3xf32>) {
  %y = gantry.silu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @softplus(
// CHECK: gantry.softplus %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @softplus(%x: tensor<2x3xf32>) {
  %y = gantry.softplus %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @softsign(
// CHECK: gantry.softsign %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @softsign(%x: tensor<2x3xf32>) {
  %y = gantry.softsign %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @mish(
// CHECK: gantry.mish %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @mish(%x: tensor<2x3xf32>) {
  %y = gantry.mish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @hard_swish(
// CHECK: gantry.hard_swish %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @hard_swish(%x: tensor<2x3xf32>) {
  %y = gantry.hard_swish %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @gelu(
// CHECK: gantry.gelu %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @gelu(%x: tensor<2x3xf32>) {
  %y = gantry.gelu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @elu(
// CHECK: gantry.elu %arg0 {alpha = 1.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @elu(%x: tensor<2x3xf32>) {
  %y = gantry.elu %x {alpha = 1.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @celu(
// CHECK: gantry.celu %arg0 {alpha = 1.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @celu(%x: tensor<2x3xf32>) {
  %y = gantry.celu %x {alpha = 1.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @selu(
// CHECK: gantry.selu %arg0 {alpha = 1.670000e+00 : f64, gamma = 1.050000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @selu(%x: tensor<2x3xf32>) {
  %y = gantry.selu %x {alpha = 1.670000e+00 : f64, gamma = 1.050000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @leaky_relu(
// CHECK: gantry.leaky_relu %arg0 {alpha = 1.000000e-02 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @leaky_relu(%x: tensor<2x3xf32>) {
  %y = gantry.leaky_relu %x {alpha = 1.000000e-02 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @thresholded_relu(
// CHECK: gantry.thresholded_relu %arg0 {alpha = 1.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @thresholded_relu(%x: tensor<2x3xf32>) {
  %y = gantry.thresholded_relu %x {alpha = 1.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @hard_sigmoid(
// CHECK: gantry.hard_sigmoid %arg0 {alpha = 2.000000e-01 : f64, beta = 5.000000e-01 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @hard_sigmoid(%x: tensor<2x3xf32>) {
  %y = gantry.hard_sigmoid %x {alpha = 2.000000e-01 : f64, beta = 5.000000e-01 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @shrink(
// CHECK: gantry.shrink %arg0 {bias = 0.000000e+00 : f64, lambda = 5.000000e-01 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @shrink(%x: tensor<2x3xf32>) {
  %y = gantry.shrink %x {bias = 0.000000e+00 : f64, lambda = 5.000000e-01 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @logical_not(
// CHECK: gantry.logical_not %arg0 : (tensor<2x3xi1>) -> tensor<2x3xi1>
func.func @logical_not(%x: tensor<2x3xi1>) {
  %y = gantry.logical_not %x : (tensor<2x3xi1>) -> tensor<2x3xi1>
  return
}

// CHECK-LABEL: @bitwise_not(
// CHECK: gantry.bitwise_not %arg0 : (tensor<2x3xi32>) -> tensor<2x3xi32>
func.func @bitwise_not(%x: tensor<2x3xi32>) {
  %y = gantry.bitwise_not %x : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return
}

// CHECK-LABEL: @is_nan(
// CHECK: gantry.is_nan %arg0 : (tensor<4xf32>) -> tensor<4xi1>
func.func @is_nan(%x: tensor<4xf32>) {
  %y = gantry.is_nan %x : (tensor<4xf32>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: @is_inf(
// CHECK: gantry.is_inf %arg0 : (tensor<4xf32>) -> tensor<4xi1>
func.func @is_inf(%x: tensor<4xf32>) {
  %y = gantry.is_inf %x : (tensor<4xf32>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: @add(
// CHECK: gantry.add %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @add(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @sub(
// CHECK: gantry.sub %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @sub(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.sub %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @mul(
// CHECK: gantry.mul %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @mul(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.mul %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @div(
// CHECK: gantry.div %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @div(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.div %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @rem(
// CHECK: gantry.rem %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @rem(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.rem %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @mod(
// CHECK: gantry.mod %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @mod(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.mod %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @pow(
// CHECK: gantry.pow %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @pow(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.pow %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @maximum(
// CHECK: gantry.maximum %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @maximum(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.maximum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @minimum(
// CHECK: gantry.minimum %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @minimum(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.minimum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @prelu(
// CHECK: gantry.prelu %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @prelu(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %c = gantry.prelu %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @logical_and(
// CHECK: gantry.logical_and %arg0, %arg1 : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
func.func @logical_and(%a: tensor<2x3xi1>, %b: tensor<3xi1>) {
  %c = gantry.logical_and %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  return
}

// CHECK-LABEL: @logical_or(
// CHECK: gantry.logical_or %arg0, %arg1 : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
func.func @logical_or(%a: tensor<2x3xi1>, %b: tensor<3xi1>) {
  %c = gantry.logical_or %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  return
}

// CHECK-LABEL: @logical_xor(
// CHECK: gantry.logical_xor %arg0, %arg1 : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
func.func @logical_xor(%a: tensor<2x3xi1>, %b: tensor<3xi1>) {
  %c = gantry.logical_xor %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  return
}

// CHECK-LABEL: @bitwise_and(
// CHECK: gantry.bitwise_and %arg0, %arg1 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
func.func @bitwise_and(%a: tensor<2x3xi32>, %b: tensor<3xi32>) {
  %c = gantry.bitwise_and %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return
}

// CHECK-LABEL: @bitwise_or(
// CHECK: gantry.bitwise_or %arg0, %arg1 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
func.func @bitwise_or(%a: tensor<2x3xi32>, %b: tensor<3xi32>) {
  %c = gantry.bitwise_or %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return
}

// CHECK-LABEL: @bitwise_xor(
// CHECK: gantry.bitwise_xor %arg0, %arg1 : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
func.func @bitwise_xor(%a: tensor<2x3xi32>, %b: tensor<3xi32>) {
  %c = gantry.bitwise_xor %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return
}

// CHECK-LABEL: @shift_left(
// CHECK: gantry.shift_left %arg0, %arg1 : (tensor<2x3xui32>, tensor<3xui32>) -> tensor<2x3xui32>
func.func @shift_left(%a: tensor<2x3xui32>, %b: tensor<3xui32>) {
  %c = gantry.shift_left %a, %b : (tensor<2x3xui32>, tensor<3xui32>) -> tensor<2x3xui32>
  return
}

// CHECK-LABEL: @shift_right(
// CHECK: gantry.shift_right %arg0, %arg1 : (tensor<2x3xui32>, tensor<3xui32>) -> tensor<2x3xui32>
func.func @shift_right(%a: tensor<2x3xui32>, %b: tensor<3xui32>) {
  %c = gantry.shift_right %a, %b : (tensor<2x3xui32>, tensor<3xui32>) -> tensor<2x3xui32>
  return
}

// CHECK-LABEL: @compare(
// CHECK: gantry.compare lt, %arg0, %arg1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
func.func @compare(%a: tensor<4xf32>, %b: tensor<f32>) {
  %c = gantry.compare lt, %a, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: @select(
// CHECK: gantry.select %arg0, %arg1, %arg2 : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
func.func @select(%p: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<f32>) {
  %c = gantry.select %p, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: @clamp(
// CHECK: gantry.clamp %arg0, %arg1, %arg2 : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
func.func @clamp(%x: tensor<2x3xf32>, %lo: tensor<f32>, %hi: tensor<f32>) {
  %y = gantry.clamp %x, %lo, %hi : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @add_n(
// CHECK: gantry.add_n %arg0, %arg1, %arg2 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
func.func @add_n(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  %s = gantry.add_n %a, %b, %c : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: @cast(
// CHECK: gantry.cast %arg0 : (tensor<4xf32>) -> tensor<4xi64>
func.func @cast(%x: tensor<4xf32>) {
  %y = gantry.cast %x : (tensor<4xf32>) -> tensor<4xi64>
  return
}
