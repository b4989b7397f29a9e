// Reading and writing at computed indices.
// Every op prints what it was read from, as text and as bytecode.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK-LABEL: @gather(
// CHECK: gantry.gather %arg0, %arg1 {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
func.func @gather(%x: tensor<9x4xf32>, %i: tensor<2x3xi64>) {
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  return
}

// CHECK-LABEL: @gather_elements(
// CHECK: gantry.gather_elements %arg0, %arg1 {axis = 1 : i64} : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
func.func @gather_elements(%x: tensor<2x5xf32>, %i: tensor<2x3xi64>) {
  %y = gantry.gather_elements %x, %i {axis = 1 : i64} : (tensor<2x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @gather_nd(
// CHECK: gantry.gather_nd %arg0, %arg1 {batch_dims = 0 : i64} : (tensor<4x5x6xf32>, tensor<3x2xi64>) -> tensor<3x6xf32>
func.func @gather_nd(%x: tensor<4x5x6xf32>, %i: tensor<3x2xi64>) {
  %y = gantry.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<4x5x6xf32>, tensor<3x2xi64>) -> tensor<3x6xf32>
  return
}

// CHECK-LABEL: @set_slice(
// CHECK: gantry.set_slice %arg0, %arg1, %arg2 {axis = 1 : i64} : (tensor<9x4xf32>, tensor<9xf32>, tensor<i32>) -> tensor<9x4xf32>
func.func @set_slice(%x: tensor<9x4xf32>, %u: tensor<9xf32>, %i: tensor<i32>) {
  %y = gantry.set_slice %x, %u, %i {axis = 1 : i64} : (tensor<9x4xf32>, tensor<9xf32>, tensor<i32>) -> tensor<9x4xf32>
  return
}

// CHECK-LABEL: @scatter_elements(
// CHECK: gantry.scatter_elements %arg0, %arg1, %arg2 {axis = 1 : i64, reduction = #gantry<reduction none>} : (tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x5xf32>
func.func @scatter_elements(%x: tensor<2x5xf32>, %i: tensor<2x3xi64>, %u: tensor<2x3xf32>) {
  %y = gantry.scatter_elements %x, %i, %u {axis = 1 : i64, reduction = #gantry<reduction none>} : (tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x5xf32>
  return
}

// CHECK-LABEL: @scatter_nd(
// CHECK: gantry.scatter_nd %arg0, %arg1, %arg2 {reduction = #gantry<reduction add>} : (tensor<8xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8xf32>
func.func @scatter_nd(%x: tensor<8xf32>, %i: tensor<4x1xi64>, %u: tensor<4xf32>) {
  %y = gantry.scatter_nd %x, %i, %u {reduction = #gantry<reduction add>} : (tensor<8xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: @one_hot(
// CHECK: gantry.one_hot %arg0, %arg1, %arg2 {axis = 1 : i64, depth = 10 : i64} : (tensor<4xi64>, tensor<f32>, tensor<f32>) -> tensor<4x10xf32>
func.func @one_hot(%i: tensor<4xi64>, %off: tensor<f32>, %on: tensor<f32>) {
  %y = gantry.one_hot %i, %off, %on {axis = 1 : i64, depth = 10 : i64} : (tensor<4xi64>, tensor<f32>, tensor<f32>) -> tensor<4x10xf32>
  return
}

// CHECK-LABEL: @checks(
// CHECK: %[[FIRST:.*]] = gantry.first_bad_index %arg0 {sizes = array<i64: 4, 5>} : (tensor<3x2xi32>) -> tensor<2xi64>
// CHECK: gantry.assert_indices %[[FIRST]] of "ids" shape [3, 2] sizes [4, 5] in "embedding" is "GatherND" : tensor<2xi64>
func.func @checks(%i: tensor<3x2xi32>) {
  %first = gantry.first_bad_index %i {sizes = array<i64: 4, 5>} : (tensor<3x2xi32>) -> tensor<2xi64>
  gantry.assert_indices %first of "ids" shape [3, 2] sizes [4, 5] in "embedding" is "GatherND" : tensor<2xi64>
  return
}
