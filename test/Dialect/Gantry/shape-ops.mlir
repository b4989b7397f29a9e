// Constants and movement of elements.
// Every op prints what it was read from, as text and as bytecode.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK-LABEL: @constant(
// CHECK: gantry.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
func.func @constant() {
  %c = gantry.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  return
}

// CHECK-LABEL: @reshape(
// CHECK: gantry.reshape %arg0 : (tensor<2x6xf32>) -> tensor<3x4xf32>
func.func @reshape(%x: tensor<2x6xf32>) {
  %y = gantry.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
  return
}

// CHECK-LABEL: @transpose(
// CHECK: gantry.transpose %arg0 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
func.func @transpose(%x: tensor<2x3xf32>) {
  %y = gantry.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// CHECK-LABEL: @broadcast(
// CHECK: gantry.broadcast %arg0 : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
func.func @broadcast(%x: tensor<3x1xf32>) {
  %y = gantry.broadcast %x : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  return
}

// CHECK-LABEL: @concat(
// CHECK: gantry.concat %arg0, %arg1 {axis = 0 : i64} : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
func.func @concat(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) {
  %y = gantry.concat %a, %b {axis = 0 : i64} : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  return
}

// CHECK-LABEL: @slice(
// CHECK: gantry.slice %arg0 {sizes = array<i64: 2, 4>, starts = array<i64: 3, 0>, steps = array<i64: -1, 2>} : (tensor<4x8xf32>) -> tensor<2x4xf32>
func.func @slice(%x: tensor<4x8xf32>) {
  %y = gantry.slice %x {sizes = array<i64: 2, 4>, starts = array<i64: 3, 0>, steps = array<i64: -1, 2>} : (tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: @split(
// CHECK: gantry.split %arg0 {axis = 0 : i64, sizes = array<i64: 1, 2>} : (tensor<3x4xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>)
func.func @split(%x: tensor<3x4xf32>) {
  %a, %b = gantry.split %x {axis = 0 : i64, sizes = array<i64: 1, 2>} : (tensor<3x4xf32>) -> (tensor<1x4xf32>, tensor<2x4xf32>)
  return
}

// CHECK-LABEL: @pad(
// CHECK: gantry.pad %arg0, %arg1 {high = array<i64: 2>, low = array<i64: 1>, mode = #gantry<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
func.func @pad(%x: tensor<4xf32>, %v: tensor<f32>) {
  %y = gantry.pad %x, %v {high = array<i64: 2>, low = array<i64: 1>, mode = #gantry<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return
}

// CHECK-LABEL: @iota(
// CHECK: gantry.iota {axis = 0 : i64} : () -> tensor<5xi64>
func.func @iota() {
  %y = gantry.iota {axis = 0 : i64} : () -> tensor<5xi64>
  return
}

// CHECK-LABEL: @resize(
// CHECK: gantry.resize %arg0 {coordinate_mode = #gantry<coordinate_mode half_pixel>, cubic_coefficient = -7.500000e-01 : f64, extrapolation = 0.000000e+00 : f64, mode = #gantry<resize_mode linear>, nearest_mode = #gantry<nearest_mode floor>, roi = array<f64>, scales = array<f64: 1.000000e+00, 1.000000e+00, 2.000000e+00>} : (tensor<1x3x4xf32>) -> tensor<1x3x8xf32>
func.func @resize(%x: tensor<1x3x4xf32>) {
  %y = gantry.resize %x {coordinate_mode = #gantry<coordinate_mode half_pixel>, cubic_coefficient = -7.500000e-01 : f64, extrapolation = 0.000000e+00 : f64, mode = #gantry<resize_mode linear>, nearest_mode = #gantry<nearest_mode floor>, roi = array<f64>, scales = array<f64: 1.000000e+00, 1.000000e+00, 2.000000e+00>} : (tensor<1x3x4xf32>) -> tensor<1x3x8xf32>
  return
}
