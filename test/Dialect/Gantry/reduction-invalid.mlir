// What reductions and normalisations refuse. Every text of lib/Dialect/Gantry/IR for them once, in
// full; what MLIR itself adds ("failed to infer returned types") is left alone.

// RUN: gantry-opt %s -split-input-file -verify-diagnostics=only-expected

// Axes count from 0; negative ones are resolved by importers.
func.func @reduce_sum(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gantry.reduce_sum' op axis -1 is outside the 2 dimensions of the input}}
  %r = gantry.reduce_sum %x {axes = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// An axis once.
func.func @reduce_max(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gantry.reduce_max' op axis 1 is given twice}}
  %r = gantry.reduce_max %x {axes = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// No axis of that number.
func.func @argmax(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gantry.argmax' op axis 2 is outside the 2 dimensions of the input}}
  %r = gantry.argmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

// The largest of nothing.
func.func @argmin(%x: tensor<2x0xf32>) {
  // expected-error @below {{'gantry.argmin' op axis 1 of [2,0] is empty}}
  %r = gantry.argmin %x {axis = 1 : i64} : (tensor<2x0xf32>) -> tensor<2xi64>
  return
}

// -----

// No axis of that number.
func.func @softmax(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.softmax' op axis 1 is outside the 1 dimensions of the input}}
  %r = gantry.softmax %x {axis = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Scale and bias must not stretch the input.
func.func @layer_norm(%x: tensor<1x8xf32>, %y: tensor<2x8xf32>) {
  // expected-error @below {{'gantry.layer_norm' op operand [2,8] cannot be broadcast to the input [1,8]}}
  %r = gantry.layer_norm %x, %y {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<1x8xf32>
  return
}

// -----

// There are no channels.
func.func @batch_norm(%x: tensor<3xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>, %u: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @below {{'gantry.batch_norm' op input needs batch and channel dimensions, got [3]}}
  %r = gantry.batch_norm %x, %y, %z, %u, %v {epsilon = 1.0e-5 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// Statistics of each channel.
func.func @batch_norm(%x: tensor<1x3x8xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>, %u: tensor<4xf32>, %v: tensor<3xf32>) {
  // expected-error @below {{'gantry.batch_norm' op expected one element for each of the 3 channels, got [4]}}
  %r = gantry.batch_norm %x, %y, %z, %u, %v {epsilon = 1.0e-5 : f64} : (tensor<1x3x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

// Groups of equal size.
func.func @group_norm(%x: tensor<1x4x8xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) {
  // expected-error @below {{'gantry.group_norm' op 4 channels cannot be divided into 3 groups}}
  %r = gantry.group_norm %x, %y, %z {groups = 3 : i64, epsilon = 1.0e-5 : f64} : (tensor<1x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

// A window over channels.
func.func @lrn(%x: tensor<1x8x4xf32>) {
  // expected-error @below {{'gantry.lrn' op needs a channel dimension and a positive size, got [1,8,4] and 0}}
  %r = gantry.lrn %x {size = 0 : i64, alpha = 1.0 : f64, beta = 1.0 : f64, bias = 1.0 : f64} : (tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  return
}

// -----

// More than there are.
func.func @top_k(%x: tensor<3x8xf32>) {
  // expected-error @below {{'gantry.top_k' op k is 9, axis 1 has 8 elements}}
  %r:2 = gantry.top_k %x {axis = 1 : i64, k = 9 : i64} : (tensor<3x8xf32>) -> (tensor<3x9xf32>, tensor<3x9xi64>)
  return
}
