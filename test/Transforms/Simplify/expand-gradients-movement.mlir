// RUN: gantry-opt %s --gantry-expand-gradients | FileCheck %s

// Movement and borders.

// The other way round.
// CHECK-LABEL: @transpose(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3x4xf32>, %[[S:[^:]*]]: tensor<4x2x3xf32>
// CHECK: %[[V1:.*]] = gantry.transpose %[[X]] {permutation = array<i64: 2, 0, 1>}
// CHECK: %[[V2:.*]] = gantry.transpose %[[S]] {permutation = array<i64: 1, 2, 0>}
// CHECK: return %[[V2]]
func.func @transpose(%x: tensor<2x3x4xf32>, %s: tensor<4x2x3xf32>) -> tensor<2x3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<2x3x4xf32>, tensor<4x2x3xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>) {
  ^bb0(%x1: tensor<2x3x4xf32>):
    %y = gantry.transpose %x1 {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
    gantry.yield %y : tensor<4x2x3xf32>
  }
  return %0#1 : tensor<2x3x4xf32>
}

// Added up.
// CHECK-LABEL: @broadcast(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x1xf32>, %[[S:[^:]*]]: tensor<2x3x4xf32>
// CHECK: %[[V1:.*]] = gantry.broadcast %[[X]]{{.*}} -> tensor<2x3x4xf32>
// CHECK: %[[V2:.*]] = gantry.reduce_sum %[[S]] {axes = array<i64: 0, 2>}
// CHECK: %[[V3:.*]] = gantry.reshape %[[V2]]{{.*}} -> tensor<3x1xf32>
// CHECK: return %[[V3]]
func.func @broadcast(%x: tensor<3x1xf32>, %s: tensor<2x3x4xf32>) -> tensor<3x1xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x1xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x1xf32>) {
  ^bb0(%x1: tensor<3x1xf32>):
    %y = gantry.broadcast %x1 : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
    gantry.yield %y : tensor<2x3x4xf32>
  }
  return %0#1 : tensor<3x1xf32>
}

// Cut into what is wanted.
// CHECK-LABEL: @concat(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2xf32>, %[[Z:[^:]*]]: tensor<3xf32>, %[[S:[^:]*]]: tensor<5xf32>
// CHECK: %[[V1:.*]] = gantry.concat %[[X]], %[[Z]] {axis = 0 : i64}
// CHECK: %[[V2:.*]] = gantry.slice %[[S]] {sizes = array<i64: 3>, starts = array<i64: 2>, steps = array<i64: 1>}
// CHECK: return %[[V2]]
func.func @concat(%x: tensor<2xf32>, %z: tensor<3xf32>, %s: tensor<5xf32>) -> tensor<3xf32> {
  %0:2 = gantry.gradient (%z, %s) seeds 1 : (tensor<3xf32>, tensor<5xf32>) -> (tensor<5xf32>, tensor<3xf32>) {
  ^bb0(%z1: tensor<3xf32>):
    %y = gantry.concat %x, %z1 {axis = 0 : i64} : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
    gantry.yield %y : tensor<5xf32>
  }
  return %0#1 : tensor<3xf32>
}

// Parts that nobody reads are zeros.
// CHECK-LABEL: @split(
// CHECK-SAME: %[[X:[^:]*]]: tensor<5xf32>, %[[S:[^:]*]]: tensor<3xf32>
// CHECK: %[[V1:.*]]:2 = gantry.split %[[X]] {axis = 0 : i64, sizes = array<i64: 2, 3>}
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.broadcast %[[V2]]{{.*}} -> tensor<2xf32>
// CHECK: %[[V4:.*]] = gantry.concat %[[V3]], %[[S]] {axis = 0 : i64}
// CHECK: return %[[V4]]
func.func @split(%x: tensor<5xf32>, %s: tensor<3xf32>) -> tensor<5xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<5xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<5xf32>) {
  ^bb0(%x1: tensor<5xf32>):
    %z, %y = gantry.split %x1 {axis = 0 : i64, sizes = array<i64: 2, 3>} : (tensor<5xf32>) -> (tensor<2xf32>, tensor<3xf32>)
    gantry.yield %y : tensor<3xf32>
  }
  return %0#1 : tensor<5xf32>
}

// Zeros in between and around.
// CHECK-LABEL: @slice(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8xf32>, %[[S:[^:]*]]: tensor<3xf32>
// CHECK: %[[V1:.*]] = gantry.slice %[[X]] {sizes = array<i64: 3>, starts = array<i64: 1>, steps = array<i64: 2>}
// CHECK: %[[V2:.*]] = gantry.reshape %[[S]]{{.*}} -> tensor<3x1xf32>
// CHECK: %[[V3:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.pad %[[V2]], %[[V3]] {high = array<i64: 0, 1>, low = array<i64: 0, 0>, mode = #gantry<pad_mode constant>}
// CHECK: %[[V5:.*]] = gantry.reshape %[[V4]]{{.*}} -> tensor<6xf32>
// CHECK: %[[V6:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V7:.*]] = gantry.pad %[[V5]], %[[V6]] {high = array<i64: 1>, low = array<i64: 1>, mode = #gantry<pad_mode constant>}
// CHECK: return %[[V7]]
func.func @slice(%x: tensor<8xf32>, %s: tensor<3xf32>) -> tensor<8xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<8xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<8xf32>) {
  ^bb0(%x1: tensor<8xf32>):
    %y = gantry.slice %x1 {starts = array<i64: 1>, sizes = array<i64: 3>, steps = array<i64: 2>} : (tensor<8xf32>) -> tensor<3xf32>
    gantry.yield %y : tensor<3xf32>
  }
  return %0#1 : tensor<8xf32>
}

// A step below 0 turns it round.
// CHECK-LABEL: @backward(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3xf32>, %[[S:[^:]*]]: tensor<3xf32>
// CHECK: %[[V1:.*]] = gantry.slice %[[X]] {sizes = array<i64: 3>, starts = array<i64: 2>, steps = array<i64: -1>}
// CHECK: %[[V2:.*]] = gantry.slice %[[S]] {sizes = array<i64: 3>, starts = array<i64: 2>, steps = array<i64: -1>}
// CHECK: return %[[V2]]
func.func @backward(%x: tensor<3xf32>, %s: tensor<3xf32>) -> tensor<3xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%x1: tensor<3xf32>):
    %y = gantry.slice %x1 {starts = array<i64: 2>, sizes = array<i64: 3>, steps = array<i64: -1>} : (tensor<3xf32>) -> tensor<3xf32>
    gantry.yield %y : tensor<3xf32>
  }
  return %0#1 : tensor<3xf32>
}

// Borders are added to what they repeat.
// CHECK-LABEL: @reflect(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Z:[^:]*]]: tensor<f32>, %[[S:[^:]*]]: tensor<7xf32>
// CHECK: %[[V1:.*]] = gantry.pad %[[X]], %[[Z]] {high = array<i64: 2>, low = array<i64: 1>, mode = #gantry<pad_mode reflect>}
// CHECK: %[[V2:.*]] = gantry.slice %[[S]] {sizes = array<i64: 4>, starts = array<i64: 1>, steps = array<i64: 1>}
// CHECK: %[[V3:.*]] = gantry.slice %[[S]] {sizes = array<i64: 1>, starts = array<i64: 0>, steps = array<i64: 1>}
// CHECK: %[[V4:.*]] = gantry.slice %[[S]] {sizes = array<i64: 2>, starts = array<i64: 5>, steps = array<i64: 1>}
// CHECK: %[[V5:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V6:.*]] = gantry.pad %[[V3]], %[[V5]] {high = array<i64: 2>, low = array<i64: 1>, mode = #gantry<pad_mode constant>}
// CHECK: %[[V7:.*]] = gantry.add %[[V2]], %[[V6]]
// CHECK: %[[V8:.*]] = gantry.slice %[[V4]] {sizes = array<i64: 2>, starts = array<i64: 1>, steps = array<i64: -1>}
// CHECK: %[[V9:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V10:.*]] = gantry.pad %[[V8]], %[[V9]] {high = array<i64: 1>, low = array<i64: 1>, mode = #gantry<pad_mode constant>}
// CHECK: %[[V11:.*]] = gantry.add %[[V7]], %[[V10]]
// CHECK: return %[[V11]]
func.func @reflect(%x: tensor<4xf32>, %z: tensor<f32>, %s: tensor<7xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<7xf32>) -> (tensor<7xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.pad %x1, %z {low = array<i64: 1>, high = array<i64: 2>, mode = #gantry<pad_mode reflect>} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
    gantry.yield %y : tensor<7xf32>
  }
  return %0#1 : tensor<4xf32>
}

// All of an edge's border goes to one element.
// CHECK-LABEL: @edge(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Z:[^:]*]]: tensor<f32>, %[[S:[^:]*]]: tensor<6xf32>
// CHECK: %[[V1:.*]] = gantry.pad %[[X]], %[[Z]] {high = array<i64: 0>, low = array<i64: 2>, mode = #gantry<pad_mode edge>}
// CHECK: %[[V2:.*]] = gantry.slice %[[S]] {sizes = array<i64: 4>, starts = array<i64: 2>, steps = array<i64: 1>}
// CHECK: %[[V3:.*]] = gantry.slice %[[S]] {sizes = array<i64: 2>, starts = array<i64: 0>, steps = array<i64: 1>}
// CHECK: %[[V4:.*]] = gantry.slice %[[S]] {sizes = array<i64: 0>, starts = array<i64: 6>, steps = array<i64: 1>}
// CHECK: %[[V5:.*]] = gantry.reduce_sum %[[V3]] {axes = array<i64: 0>, keep_dims}
// CHECK: %[[V6:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V7:.*]] = gantry.pad %[[V5]], %[[V6]] {high = array<i64: 3>, low = array<i64: 0>, mode = #gantry<pad_mode constant>}
// CHECK: %[[V8:.*]] = gantry.add %[[V2]], %[[V7]]
// CHECK: return %[[V8]]
func.func @edge(%x: tensor<4xf32>, %z: tensor<f32>, %s: tensor<6xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.pad %x1, %z {low = array<i64: 2>, high = array<i64: 0>, mode = #gantry<pad_mode edge>} : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
    gantry.yield %y : tensor<6xf32>
  }
  return %0#1 : tensor<4xf32>
}

// The value of a border gets what lies outside.
// CHECK-LABEL: @pad_value(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Z:[^:]*]]: tensor<f32>, %[[S:[^:]*]]: tensor<6xf32>
// CHECK: %[[V1:.*]] = gantry.pad %[[X]], %[[Z]] {high = array<i64: 1>, low = array<i64: 1>, mode = #gantry<pad_mode constant>}
// CHECK: %[[V2:.*]] = gantry.constant dense<true> : tensor<i1>
// CHECK: %[[V3:.*]] = gantry.broadcast %[[V2]]{{.*}} -> tensor<4xi1>
// CHECK: %[[V4:.*]] = gantry.constant dense<false> : tensor<i1>
// CHECK: %[[V5:.*]] = gantry.pad %[[V3]], %[[V4]] {high = array<i64: 1>, low = array<i64: 1>, mode = #gantry<pad_mode constant>}
// CHECK: %[[V6:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V7:.*]] = gantry.select %[[V5]], %[[V6]], %[[S]]
// CHECK: %[[V8:.*]] = gantry.reduce_sum %[[V7]] {axes = array<i64: 0>}
// CHECK: %[[V9:.*]] = gantry.slice %[[S]] {sizes = array<i64: 4>, starts = array<i64: 1>, steps = array<i64: 1>}
// CHECK: %[[V10:.*]] = gantry.slice %[[S]] {sizes = array<i64: 1>, starts = array<i64: 0>, steps = array<i64: 1>}
// CHECK: %[[V11:.*]] = gantry.slice %[[S]] {sizes = array<i64: 1>, starts = array<i64: 5>, steps = array<i64: 1>}
// CHECK: return %[[V9]], %[[V8]]
func.func @pad_value(%x: tensor<4xf32>, %z: tensor<f32>, %s: tensor<6xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0:3 = gantry.gradient (%x, %z, %s) seeds 1 : (tensor<4xf32>, tensor<f32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<4xf32>, tensor<f32>) {
  ^bb0(%x1: tensor<4xf32>, %z1: tensor<f32>):
    %y = gantry.pad %x1, %z1 {low = array<i64: 1>, high = array<i64: 1>, mode = #gantry<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
    gantry.yield %y : tensor<6xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<f32>
}
