// RUN: gantry-opt %s | FileCheck %s

// CHECK-LABEL: @loss
// CHECK: %[[R:.*]]:3 = gantry.gradient(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>) {
func.func @loss(%x: tensor<4xf32>, %y: tensor<f32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>) {
  %0:3 = gantry.gradient (%x, %y) : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<f32>):
    %1 = gantry.mul %a, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = gantry.reduce_sum %1 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    gantry.yield %2 : tensor<f32>
  }
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<4xf32>, tensor<f32>
}

// A cotangent for the first value; the second one is only given.
// CHECK-LABEL: @seeds
// CHECK: gantry.gradient(%{{.*}}, %{{.*}}) seeds 1 allow_unused : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<i64>, tensor<?xf32>) {
func.func @seeds(%x: tensor<?xf32>, %d: tensor<?xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %0:3 = gantry.gradient (%x, %d) seeds 1 allow_unused : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<i64>, tensor<?xf32>) {
  ^bb0(%a: tensor<?xf32>):
    %1 = gantry.exp %a : (tensor<?xf32>) -> tensor<?xf32>
    gantry.yield %1, %n : tensor<?xf32>, tensor<i64>
  }
  return %0#2 : tensor<?xf32>
}

// CHECK-LABEL: @rest
// CHECK: gantry.checkpoint -> (tensor<4xf32>) {
// CHECK: gantry.custom_gradient(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK: } backward {
// CHECK: gantry.stop_gradient %{{.*}} : tensor<4xf32>
func.func @rest(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.checkpoint -> (tensor<4xf32>) {
    %1 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  }
  %2 = gantry.custom_gradient (%0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    gantry.yield %a : tensor<4xf32>
  } backward {
  ^bb0(%a: tensor<4xf32>, %y: tensor<4xf32>, %d: tensor<4xf32>):
    gantry.yield %d : tensor<4xf32>
  }
  %3 = gantry.stop_gradient %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: @windows
// CHECK: gantry.conv_filter_grad
// CHECK-SAME: -> tensor<4x3x3x3xf32>
// CHECK: gantry.max_pool_index
// CHECK-SAME: -> tensor<1x3x4x4xui8>
// CHECK: gantry.pool_pick
// CHECK-SAME: -> tensor<1x3x4x4xf32>
// CHECK: gantry.pool_spread
// CHECK-SAME: -> tensor<1x3x8x8xf32>
func.func @windows(%x: tensor<1x3x8x8xf32>, %d: tensor<1x4x8x8xf32>) -> (tensor<4x3x3x3xf32>, tensor<1x3x8x8xf32>) {
  %w = gantry.conv_filter_grad %x, %d {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<4x3x3x3xf32>
  %i = gantry.max_pool_index %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xui8>
  %v = gantry.pool_pick %x, %i {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<1x3x4x4xui8>) -> tensor<1x3x4x4xf32>
  %s = gantry.pool_spread %v, %i {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, sizes = array<i64: 8, 8>} : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xui8>) -> tensor<1x3x8x8xf32>
  return %w, %s : tensor<4x3x3x3xf32>, tensor<1x3x8x8xf32>
}

// More places than a byte counts.
// CHECK-LABEL: @large_window
// CHECK: -> tensor<1x1x1x1xi32>
func.func @large_window(%x: tensor<1x1x16x16xf32>) -> tensor<1x1x1x1xi32> {
  %i = gantry.max_pool_index %x {window = array<i64: 16, 16>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x16x16xf32>) -> tensor<1x1x1x1xi32>
  return %i : tensor<1x1x1x1xi32>
}
