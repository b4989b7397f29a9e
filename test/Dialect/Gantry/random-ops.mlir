// Random numbers and dropout.
// Every op prints what it was read from, as text and as bytecode.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK-LABEL: @random_uniform(
// CHECK: gantry.random_uniform {high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, seed = 7 : i64} : () -> tensor<2x3xf32>
func.func @random_uniform() {
  %y = gantry.random_uniform {high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, seed = 7 : i64} : () -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @random_normal(
// CHECK: gantry.random_normal {deviation = 1.000000e+00 : f64, mean = 0.000000e+00 : f64, seed = 7 : i64} : () -> tensor<2x3xf32>
func.func @random_normal() {
  %y = gantry.random_normal {deviation = 1.000000e+00 : f64, mean = 0.000000e+00 : f64, seed = 7 : i64} : () -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @of_a_key(
// CHECK: gantry.random_uniform %arg0 {high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, stream = 3 : i64} : (tensor<i64>) -> tensor<2x3xf32>
// CHECK: gantry.random_normal %arg0 {deviation = 1.000000e+00 : f64, mean = 0.000000e+00 : f64} : (tensor<i64>) -> tensor<2x3xf16>
func.func @of_a_key(%key: tensor<i64>) {
  %x = gantry.random_uniform %key {high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, stream = 3 : i64} : (tensor<i64>) -> tensor<2x3xf32>
  %y = gantry.random_normal %key {deviation = 1.000000e+00 : f64, mean = 0.000000e+00 : f64} : (tensor<i64>) -> tensor<2x3xf16>
  return
}

// CHECK-LABEL: @part(
// CHECK: gantry.random_uniform %arg0 {begin = array<i64: 4, 0>, high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, whole = array<i64: 6, 3>} : (tensor<i64>) -> tensor<2x3xf32>
func.func @part(%key: tensor<i64>) {
  %x = gantry.random_uniform %key {begin = array<i64: 4, 0>, high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, whole = array<i64: 6, 3>} : (tensor<i64>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @dropout(
// CHECK: gantry.dropout %arg0 {ratio = 5.000000e-01 : f64} : (tensor<4xf32>) -> tensor<4xf32>
func.func @dropout(%x: tensor<4xf32>) {
  %y = gantry.dropout %x {ratio = 5.000000e-01 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
