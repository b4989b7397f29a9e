// Reductions, softmax and the normalisations.
// Every op prints what it was read from, as text and as bytecode.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK-LABEL: @reduce_sum(
// CHECK: gantry.reduce_sum %arg0 {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
func.func @reduce_sum(%x: tensor<2x3xf32>) {
  %y = gantry.reduce_sum %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: @reduce_mean(
// CHECK: gantry.reduce_mean %arg0 {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
func.func @reduce_mean(%x: tensor<2x3xf32>) {
  %y = gantry.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: @reduce_max(
// CHECK: gantry.reduce_max %arg0 {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
func.func @reduce_max(%x: tensor<2x3xf32>) {
  %y = gantry.reduce_max %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: @reduce_min(
// CHECK: gantry.reduce_min %arg0 {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
func.func @reduce_min(%x: tensor<2x3xf32>) {
  %y = gantry.reduce_min %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: @reduce_prod(
// CHECK: gantry.reduce_prod %arg0 {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
func.func @reduce_prod(%x: tensor<2x3xf32>) {
  %y = gantry.reduce_prod %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: @argmax(
// CHECK: gantry.argmax %arg0 {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
func.func @argmax(%x: tensor<2x3xf32>) {
  %i = gantry.argmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// CHECK-LABEL: @argmin(
// CHECK: gantry.argmin %arg0 {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
func.func @argmin(%x: tensor<2x3xf32>) {
  %i = gantry.argmin %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// CHECK-LABEL: @softmax(
// CHECK: gantry.softmax %arg0 {axis = 1 : i64} : (tensor<2x10xf32>) -> tensor<2x10xf32>
func.func @softmax(%x: tensor<2x10xf32>) {
  %y = gantry.softmax %x {axis = 1 : i64} : (tensor<2x10xf32>) -> tensor<2x10xf32>
  return
}

// CHECK-LABEL: @log_softmax(
// CHECK: gantry.log_softmax %arg0 {axis = 1 : i64} : (tensor<2x10xf32>) -> tensor<2x10xf32>
func.func @log_softmax(%x: tensor<2x10xf32>) {
  %y = gantry.log_softmax %x {axis = 1 : i64} : (tensor<2x10xf32>) -> tensor<2x10xf32>
  return
}

// CHECK-LABEL: @layer_norm(
// CHECK: gantry.layer_norm %arg0, %arg1, %arg2 {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
func.func @layer_norm(%x: tensor<2x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) {
  %y = gantry.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// CHECK-LABEL: @rms_norm(
// CHECK: gantry.rms_norm %arg0, %arg1 {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
func.func @rms_norm(%x: tensor<2x8xf32>, %s: tensor<8xf32>) {
  %y = gantry.rms_norm %x, %s {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// CHECK-LABEL: @batch_norm(
// CHECK: gantry.batch_norm %arg0, %arg1, %arg2, %arg3, %arg4 {epsilon = 1.000000e-05 : f64} : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
func.func @batch_norm(%x: tensor<1x3x8x8xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  %y = gantry.batch_norm %x, %s, %b, %m, %v {epsilon = 1.000000e-05 : f64} : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
  return
}

// CHECK-LABEL: @group_norm(
// CHECK: gantry.group_norm %arg0, %arg1, %arg2 {epsilon = 1.000000e-05 : f64, groups = 2 : i64} : (tensor<1x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8xf32>
func.func @group_norm(%x: tensor<1x4x8xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) {
  %y = gantry.group_norm %x, %s, %b {epsilon = 1.000000e-05 : f64, groups = 2 : i64} : (tensor<1x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8xf32>
  return
}

// CHECK-LABEL: @lrn(
// CHECK: gantry.lrn %arg0 {alpha = 1.000000e-04 : f64, beta = 7.500000e-01 : f64, bias = 1.000000e+00 : f64, size = 5 : i64} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
func.func @lrn(%x: tensor<1x8x4x4xf32>) {
  %y = gantry.lrn %x {alpha = 1.000000e-04 : f64, beta = 7.500000e-01 : f64, bias = 1.000000e+00 : f64, size = 5 : i64} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// CHECK-LABEL: @cumsum(
// CHECK: gantry.cumsum %arg0 {axis = 0 : i64} : (tensor<5xf32>) -> tensor<5xf32>
func.func @cumsum(%x: tensor<5xf32>) {
  %y = gantry.cumsum %x {axis = 0 : i64} : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// CHECK-LABEL: @top_k(
// CHECK: gantry.top_k %arg0 {axis = 1 : i64, k = 2 : i64} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
func.func @top_k(%x: tensor<3x8xf32>) {
  %v, %i = gantry.top_k %x {axis = 1 : i64, k = 2 : i64} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  return
}
