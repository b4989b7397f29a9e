// Moves are views, maps or copies, whichever the next op can read through.

// RUN: gantry-opt --gantry-lower-kernels-to-linalg %s | FileCheck %s

// Any two shapes meet in the flat one.
// CHECK-LABEL: func.func private @reshape(
// CHECK:         tensor.collapse_shape %{{.*}} : tensor<2x6xf32> into tensor<12xf32>
// CHECK:         tensor.expand_shape %{{.*}} : tensor<12xf32> into tensor<3x4xf32>
gantry.kernel @reshape {
^bb0(%x: tensor<2x6xf32>):
  %0 = gantry.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
  gantry.yield %0 : tensor<3x4xf32>
}

// Any number of pieces is one op; empty ones are no pieces.
// CHECK-LABEL: func.func private @concat(
// CHECK-SAME:    %[[A:[^:]*]]: tensor<2x3xf32>, %{{[^:]*}}: tensor<0x3xf32>, %[[B:[^:]*]]: tensor<1x3xf32>
// CHECK:         tensor.concat dim(0) %[[A]], %[[B]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
gantry.kernel @concat {
^bb0(%a: tensor<2x3xf32>, %none: tensor<0x3xf32>, %b: tensor<1x3xf32>):
  %0 = gantry.concat %a, %none, %b {axis = 0 : i64} : (tensor<2x3xf32>, tensor<0x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  gantry.yield %0 : tensor<3x3xf32>
}

// Backward steps are index arithmetic, since linalg's maps must be invertible.
// CHECK-LABEL: func.func private @slice_backward(
// CHECK-NOT:     tensor.extract_slice
// CHECK:         linalg.index 0
// CHECK:         tensor.extract %
gantry.kernel @slice_backward {
^bb0(%x: tensor<4x8xf32>):
  %0 = gantry.slice %x {starts = array<i64: 3, 0>, sizes = array<i64: 2, 4>, steps = array<i64: -1, 2>} : (tensor<4x8xf32>) -> tensor<2x4xf32>
  gantry.yield %0 : tensor<2x4xf32>
}

// As a result a border is written in place; before another op it is one that tiling takes along.
// CHECK-LABEL: func.func private @pad_result(
// CHECK:         linalg.fill
// CHECK:         tensor.insert_slice
// CHECK-LABEL: func.func private @pad_before(
// CHECK:         tensor.pad
gantry.kernel @pad_result {
^bb0(%x: tensor<4xf32>, %v: tensor<f32>):
  %0 = gantry.pad %x, %v {low = array<i64: 1>, high = array<i64: 2>, mode = #gantry<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  gantry.yield %0 : tensor<7xf32>
}
gantry.kernel @pad_before {
^bb0(%x: tensor<4xf32>, %v: tensor<f32>):
  %0 = gantry.pad %x, %v {low = array<i64: 1>, high = array<i64: 2>, mode = #gantry<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = gantry.relu %0 : (tensor<7xf32>) -> tensor<7xf32>
  gantry.yield %1 : tensor<7xf32>
}
