// Constant indices that are in range, or that nobody knows yet, pass.
// RUN: gantry-opt %s --gantry-check-constant-indices | FileCheck %s

// Negative ones count from the end.
// CHECK-LABEL: @in_range
func.func @in_range(%x: tensor<9x4xf32>) -> tensor<2x4xf32> {
  %i = gantry.constant dense<[-9, 8]> : tensor<2xi64>
  // CHECK: gantry.gather
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// CHECK-LABEL: @unknown
func.func @unknown(%x: tensor<9x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // CHECK: gantry.gather
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// Without an index nothing is read, also of nothing.
// CHECK-LABEL: @none
func.func @none(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %i = gantry.constant dense<> : tensor<0xi64>
  // CHECK: gantry.gather
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<0x4xf32>, tensor<0xi64>) -> tensor<0x4xf32>
  return %y : tensor<0x4xf32>
}
