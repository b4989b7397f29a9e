// RUN: gantry-opt %s --gantry-expand-gradients | FileCheck %s

// Products, convolutions, attention.

// Transposes are flags.
// CHECK-LABEL: @matmul(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[Z:[^:]*]]: tensor<4x5xf32>, %[[S:[^:]*]]: tensor<3x5xf32>
// CHECK: %[[V1:.*]] = gantry.matmul %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.matmul %[[S]], %[[Z]] {transpose_b}
// CHECK: %[[V3:.*]] = gantry.matmul %[[X]], %[[S]] {transpose_a}
// CHECK: return %[[V2]], %[[V3]]
func.func @matmul(%x: tensor<3x4xf32>, %z: tensor<4x5xf32>, %s: tensor<3x5xf32>) -> (tensor<3x4xf32>, tensor<4x5xf32>) {
  %0:3 = gantry.gradient (%x, %z, %s) seeds 1 : (tensor<3x4xf32>, tensor<4x5xf32>, tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x4xf32>, tensor<4x5xf32>) {
  ^bb0(%x1: tensor<3x4xf32>, %z1: tensor<4x5xf32>):
    %y = gantry.matmul %x1, %z1 : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    gantry.yield %y : tensor<3x5xf32>
  }
  return %0#1, %0#2 : tensor<3x4xf32>, tensor<4x5xf32>
}

// Those of the operands, too.
// CHECK-LABEL: @transposed(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x3xf32>, %[[Z:[^:]*]]: tensor<5x4xf32>, %[[S:[^:]*]]: tensor<3x5xf32>
// CHECK: %[[V1:.*]] = gantry.matmul %[[X]], %[[Z]] {transpose_a, transpose_b}
// CHECK: %[[V2:.*]] = gantry.matmul %[[Z]], %[[S]] {transpose_a, transpose_b}
// CHECK: %[[V3:.*]] = gantry.matmul %[[S]], %[[X]] {transpose_a, transpose_b}
// CHECK: return %[[V2]], %[[V3]]
func.func @transposed(%x: tensor<4x3xf32>, %z: tensor<5x4xf32>, %s: tensor<3x5xf32>) -> (tensor<4x3xf32>, tensor<5x4xf32>) {
  %0:3 = gantry.gradient (%x, %z, %s) seeds 1 : (tensor<4x3xf32>, tensor<5x4xf32>, tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<4x3xf32>, tensor<5x4xf32>) {
  ^bb0(%x1: tensor<4x3xf32>, %z1: tensor<5x4xf32>):
    %y = gantry.matmul %x1, %z1 {transpose_a, transpose_b} : (tensor<4x3xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
    gantry.yield %y : tensor<3x5xf32>
  }
  return %0#1, %0#2 : tensor<4x3xf32>, tensor<5x4xf32>
}

// Weights that a batch shares: one product over all of its rows.
// CHECK-LABEL: @shared(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3x4xf32>, %[[Z:[^:]*]]: tensor<4x5xf32>, %[[S:[^:]*]]: tensor<2x3x5xf32>
// CHECK: %[[V1:.*]] = gantry.matmul %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.matmul %[[S]], %[[Z]] {transpose_b}
// CHECK: %[[V3:.*]] = gantry.reshape %[[S]]{{.*}} -> tensor<6x5xf32>
// CHECK: %[[V4:.*]] = gantry.reshape %[[X]]{{.*}} -> tensor<6x4xf32>
// CHECK: %[[V5:.*]] = gantry.matmul %[[V4]], %[[V3]] {transpose_a}
// CHECK: return %[[V2]], %[[V5]]
func.func @shared(%x: tensor<2x3x4xf32>, %z: tensor<4x5xf32>, %s: tensor<2x3x5xf32>) -> (tensor<2x3x4xf32>, tensor<4x5xf32>) {
  %0:3 = gantry.gradient (%x, %z, %s) seeds 1 : (tensor<2x3x4xf32>, tensor<4x5xf32>, tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x4xf32>, tensor<4x5xf32>) {
  ^bb0(%x1: tensor<2x3x4xf32>, %z1: tensor<4x5xf32>):
    %y = gantry.matmul %x1, %z1 : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
    gantry.yield %y : tensor<2x3x5xf32>
  }
  return %0#1, %0#2 : tensor<2x3x4xf32>, tensor<4x5xf32>
}

// Batches that were broadcast are added up.
// CHECK-LABEL: @batches(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[Z:[^:]*]]: tensor<2x4x5xf32>, %[[S:[^:]*]]: tensor<2x3x5xf32>
// CHECK: %[[V1:.*]] = gantry.matmul %[[X]], %[[Z]]
// CHECK: %[[V2:.*]] = gantry.matmul %[[S]], %[[Z]] {transpose_b}
// CHECK: %[[V3:.*]] = gantry.reduce_sum %[[V2]] {axes = array<i64: 0>}
// CHECK: return %[[V3]]
func.func @batches(%x: tensor<3x4xf32>, %z: tensor<2x4x5xf32>, %s: tensor<2x3x5xf32>) -> tensor<3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x4xf32>, tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %y = gantry.matmul %x1, %z : (tensor<3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    gantry.yield %y : tensor<2x3x5xf32>
  }
  return %0#1 : tensor<3x4xf32>
}

// The image by a transposed convolution that has its size, the filter by an op of its own.
// CHECK-LABEL: @conv(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x8x8xf32>, %[[W:[^:]*]]: tensor<4x2x3x3xf32>, %[[S:[^:]*]]: tensor<1x4x4x4xf32>
// CHECK: %[[V1:.*]] = gantry.conv %[[X]], %[[W]] {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 2, 2>}
// CHECK: %[[V2:.*]] = gantry.conv_transpose %[[S]], %[[W]] {dilations = array<i64: 1, 1>, groups = 1 : i64, output_pads = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 2, 2>}
// CHECK: %[[V3:.*]] = gantry.conv_filter_grad %[[X]], %[[S]] {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 2, 2>, window = array<i64: 3, 3>}
// CHECK: return %[[V2]], %[[V3]]
func.func @conv(%x: tensor<1x2x8x8xf32>, %w: tensor<4x2x3x3xf32>, %s: tensor<1x4x4x4xf32>) -> (tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) {
  %0:3 = gantry.gradient (%x, %w, %s) seeds 1 : (tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>, tensor<1x4x4x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) {
  ^bb0(%x1: tensor<1x2x8x8xf32>, %w1: tensor<4x2x3x3xf32>):
    %y = gantry.conv %x1, %w1 {strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x4x4xf32>
    gantry.yield %y : tensor<1x4x4x4xf32>
  }
  return %0#1, %0#2 : tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>
}

// Rows that `output_pads` added are cut off where no border takes them.
// CHECK-LABEL: @conv_transpose(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4xf32>, %[[W:[^:]*]]: tensor<2x4x3xf32>, %[[S:[^:]*]]: tensor<1x4x12xf32>
// CHECK: %[[V1:.*]] = gantry.conv_transpose %[[X]], %[[W]] {dilations = array<i64: 1>, groups = 1 : i64, output_pads = array<i64: 3>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>}
// CHECK: %[[V2:.*]] = gantry.slice %[[S]] {sizes = array<i64: 1, 4, 9>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>}
// CHECK: %[[V3:.*]] = gantry.conv %[[V2]], %[[W]] {dilations = array<i64: 1>, groups = 1 : i64, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>}
// CHECK: %[[V4:.*]] = gantry.conv_filter_grad %[[V2]], %[[X]] {dilations = array<i64: 1>, groups = 1 : i64, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 3>}
// CHECK: return %[[V3]], %[[V4]]
func.func @conv_transpose(%x: tensor<1x2x4xf32>, %w: tensor<2x4x3xf32>, %s: tensor<1x4x12xf32>) -> (tensor<1x2x4xf32>, tensor<2x4x3xf32>) {
  %0:3 = gantry.gradient (%x, %w, %s) seeds 1 : (tensor<1x2x4xf32>, tensor<2x4x3xf32>, tensor<1x4x12xf32>) -> (tensor<1x4x12xf32>, tensor<1x2x4xf32>, tensor<2x4x3xf32>) {
  ^bb0(%x1: tensor<1x2x4xf32>, %w1: tensor<2x4x3xf32>):
    %y = gantry.conv_transpose %x1, %w1 {strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 3>, groups = 1 : i64} : (tensor<1x2x4xf32>, tensor<2x4x3xf32>) -> tensor<1x4x12xf32>
    gantry.yield %y : tensor<1x4x12xf32>
  }
  return %0#1, %0#2 : tensor<1x2x4xf32>, tensor<2x4x3xf32>
}

// Weights are computed again; the mask's gradient is added up where it was broadcast.
// CHECK-LABEL: @attention(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x3x4xf32>, %[[K:[^:]*]]: tensor<2x5x4xf32>, %[[V:[^:]*]]: tensor<2x5x6xf32>, %[[M:[^:]*]]: tensor<3x5xf32>, %[[S:[^:]*]]: tensor<2x3x6xf32>
// CHECK: %[[V1:.*]] = gantry.attention %[[Q]], %[[K]], %[[V]], %[[M]] {scale = 5.000000e-01 : f64}
// CHECK: %[[V2:.*]] = gantry.matmul %[[Q]], %[[K]] {transpose_b}
// CHECK: %[[V3:.*]] = gantry.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.mul %[[V2]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.add %[[V4]], %[[M]]
// CHECK: %[[V6:.*]] = gantry.softmax %[[V5]] {axis = 2 : i64}
// CHECK: %[[V7:.*]] = gantry.matmul %[[V6]], %[[S]] {transpose_a}
// CHECK: %[[V8:.*]] = gantry.matmul %[[S]], %[[V]] {transpose_b}
// CHECK: %[[V9:.*]] = gantry.mul %[[V8]], %[[V6]]
// CHECK: %[[V10:.*]] = gantry.reduce_sum %[[V9]] {axes = array<i64: 2>, keep_dims}
// CHECK: %[[V11:.*]] = gantry.sub %[[V8]], %[[V10]]
// CHECK: %[[V12:.*]] = gantry.mul %[[V6]], %[[V11]]
// CHECK: %[[V13:.*]] = gantry.matmul %[[V12]], %[[K]]
// CHECK: %[[V14:.*]] = gantry.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[V15:.*]] = gantry.mul %[[V13]], %[[V14]]
// CHECK: %[[V16:.*]] = gantry.matmul %[[V12]], %[[Q]] {transpose_a}
// CHECK: %[[V17:.*]] = gantry.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[V18:.*]] = gantry.mul %[[V16]], %[[V17]]
// CHECK: %[[V19:.*]] = gantry.reduce_sum %[[V12]] {axes = array<i64: 0>}
// CHECK: return %[[V15]], %[[V18]], %[[V7]], %[[V19]]
func.func @attention(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, %m: tensor<3x5xf32>, %s: tensor<2x3x6xf32>) -> (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<3x5xf32>) {
  %0:5 = gantry.gradient (%q, %k, %v, %m, %s) seeds 1 : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<3x5xf32>, tensor<2x3x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<3x5xf32>) {
  ^bb0(%q1: tensor<2x3x4xf32>, %k1: tensor<2x5x4xf32>, %v1: tensor<2x5x6xf32>, %m1: tensor<3x5xf32>):
    %y = gantry.attention %q1, %k1, %v1, %m1 {scale = 0.5 : f64} : (tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<3x5xf32>) -> tensor<2x3x6xf32>
    gantry.yield %y : tensor<2x3x6xf32>
  }
  return %0#1, %0#2, %0#3, %0#4 : tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<3x5xf32>
}
