// RUN: gantry-opt %s --gantry-expand-gradients | FileCheck %s

// Pools, lrn, resize.

// A byte says which element it was.
// CHECK-LABEL: @max_pool(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4x4xf32>, %[[S:[^:]*]]: tensor<1x2x2x2xf32>
// CHECK: %[[V1:.*]] = gantry.max_pool %[[X]] {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>}
// CHECK: %[[V2:.*]] = gantry.max_pool_index %[[X]] {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>}
// CHECK: %[[V3:.*]] = gantry.pool_spread %[[S]], %[[V2]] {dilations = array<i64: 1, 1>, pads_high = array<i64: 0, 0>, pads_low = array<i64: 0, 0>, sizes = array<i64: 4, 4>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>}
// CHECK: return %[[V3]]
func.func @max_pool(%x: tensor<1x2x4x4xf32>, %s: tensor<1x2x2x2xf32>) -> tensor<1x2x4x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>) {
  ^bb0(%x1: tensor<1x2x4x4xf32>):
    %y = gantry.max_pool %x1 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
    gantry.yield %y : tensor<1x2x2x2xf32>
  }
  return %0#1 : tensor<1x2x4x4xf32>
}

// Windows of a border are divided by what they hold, and each image spreads by itself.
// CHECK-LABEL: @avg_pool(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4xf32>, %[[S:[^:]*]]: tensor<1x2x4xf32>
// CHECK: %[[V1:.*]] = gantry.avg_pool %[[X]] {dilations = array<i64: 1>, pads_high = array<i64: 1>, pads_low = array<i64: 1>, strides = array<i64: 1>, window = array<i64: 3>}
// CHECK: %[[V2:.*]] = gantry.constant dense<{{\[\[\[}}2.000000e+00, 3.000000e+00, 3.000000e+00, 2.000000e+00]]]> : tensor<1x1x4xf32>
// CHECK: %[[V3:.*]] = gantry.div %[[S]], %[[V2]]
// CHECK: %[[V4:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V5:.*]] = gantry.broadcast %[[V4]]{{.*}} -> tensor<1x1x3xf32>
// CHECK: %[[V6:.*]] = gantry.reshape %[[V3]]{{.*}} -> tensor<2x1x4xf32>
// CHECK: %[[V7:.*]] = gantry.conv_transpose %[[V6]], %[[V5]] {dilations = array<i64: 1>, groups = 1 : i64, output_pads = array<i64: 0>, pads_high = array<i64: 1>, pads_low = array<i64: 1>, strides = array<i64: 1>}
// CHECK: %[[V8:.*]] = gantry.reshape %[[V7]]{{.*}} -> tensor<1x2x4xf32>
// CHECK: return %[[V8]]
func.func @avg_pool(%x: tensor<1x2x4xf32>, %s: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  ^bb0(%x1: tensor<1x2x4xf32>):
    %y = gantry.avg_pool %x1 {window = array<i64: 3>, strides = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
    gantry.yield %y : tensor<1x2x4xf32>
  }
  return %0#1 : tensor<1x2x4xf32>
}

// 0 where the result is 0.
// CHECK-LABEL: @lp_pool(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4xf32>, %[[S:[^:]*]]: tensor<1x2x2xf32>
// CHECK: %[[V1:.*]] = gantry.lp_pool %[[X]] {dilations = array<i64: 1>, p = 3.000000e+00 : f64, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>}
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.compare {{ *}}eq, %[[V1]], %[[V2]]
// CHECK: %[[V4:.*]] = gantry.constant dense<-2.000000e+00> : tensor<f32>
// CHECK: %[[V5:.*]] = gantry.pow %[[V1]], %[[V4]]
// CHECK: %[[V6:.*]] = gantry.mul %[[S]], %[[V5]]
// CHECK: %[[V7:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V8:.*]] = gantry.select %[[V3]], %[[V7]], %[[V6]]
// CHECK: %[[V9:.*]] = gantry.abs %[[X]]
// CHECK: %[[V10:.*]] = gantry.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[V11:.*]] = gantry.pow %[[V9]], %[[V10]]
// CHECK: %[[V12:.*]] = gantry.sign %[[X]]
// CHECK: %[[V13:.*]] = gantry.mul %[[V11]], %[[V12]]
// CHECK: %[[V14:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V15:.*]] = gantry.compare {{ *}}eq, %[[X]], %[[V14]]
// CHECK: %[[V16:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V17:.*]] = gantry.broadcast %[[V16]]{{.*}} -> tensor<1x1x2xf32>
// CHECK: %[[V18:.*]] = gantry.reshape %[[V8]]{{.*}} -> tensor<2x1x2xf32>
// CHECK: %[[V19:.*]] = gantry.conv_transpose %[[V18]], %[[V17]] {dilations = array<i64: 1>, groups = 1 : i64, output_pads = array<i64: 0>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>}
// CHECK: %[[V20:.*]] = gantry.reshape %[[V19]]{{.*}} -> tensor<1x2x4xf32>
// CHECK: %[[V21:.*]] = gantry.mul %[[V20]], %[[V13]]
// CHECK: %[[V22:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V23:.*]] = gantry.select %[[V15]], %[[V22]], %[[V21]]
// CHECK: return %[[V23]]
func.func @lp_pool(%x: tensor<1x2x4xf32>, %s: tensor<1x2x2xf32>) -> tensor<1x2x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<1x2x4xf32>, tensor<1x2x2xf32>) -> (tensor<1x2x2xf32>, tensor<1x2x4xf32>) {
  ^bb0(%x1: tensor<1x2x4xf32>):
    %y = gantry.lp_pool %x1 {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, p = 3.0 : f64} : (tensor<1x2x4xf32>) -> tensor<1x2x2xf32>
    gantry.yield %y : tensor<1x2x2xf32>
  }
  return %0#1 : tensor<1x2x4xf32>
}

// An even window lies askew, and its way back the other way round.
// CHECK-LABEL: @lrn(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x6x2xf32>, %[[S:[^:]*]]: tensor<1x6x2xf32>
// CHECK: %[[V1:.*]] = gantry.lrn %[[X]] {alpha = 5.000000e-01 : f64, beta = 7.500000e-01 : f64, bias = 1.000000e+00 : f64, size = 4 : i64}
// CHECK: %[[V2:.*]] = gantry.mul %[[X]], %[[X]]
// CHECK: %[[V3:.*]] = gantry.reshape %[[V2]]{{.*}} -> tensor<1x1x6x2xf32>
// CHECK: %[[V4:.*]] = gantry.avg_pool %[[V3]] {count_include_pad, dilations = array<i64: 1, 1>, pads_high = array<i64: 2, 0>, pads_low = array<i64: 1, 0>, strides = array<i64: 1, 1>, window = array<i64: 4, 1>}
// CHECK: %[[V5:.*]] = gantry.reshape %[[V4]]{{.*}} -> tensor<1x6x2xf32>
// CHECK: %[[V6:.*]] = gantry.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[V7:.*]] = gantry.mul %[[V5]], %[[V6]]
// CHECK: %[[V8:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V9:.*]] = gantry.add %[[V7]], %[[V8]]
// CHECK: %[[V10:.*]] = gantry.constant dense<-7.500000e-01> : tensor<f32>
// CHECK: %[[V11:.*]] = gantry.pow %[[V9]], %[[V10]]
// CHECK: %[[V12:.*]] = gantry.mul %[[S]], %[[V11]]
// CHECK: %[[V13:.*]] = gantry.mul %[[S]], %[[X]]
// CHECK: %[[V14:.*]] = gantry.constant dense<-1.750000e+00> : tensor<f32>
// CHECK: %[[V15:.*]] = gantry.pow %[[V9]], %[[V14]]
// CHECK: %[[V16:.*]] = gantry.mul %[[V13]], %[[V15]]
// CHECK: %[[V17:.*]] = gantry.reshape %[[V16]]{{.*}} -> tensor<1x1x6x2xf32>
// CHECK: %[[V18:.*]] = gantry.avg_pool %[[V17]] {count_include_pad, dilations = array<i64: 1, 1>, pads_high = array<i64: 1, 0>, pads_low = array<i64: 2, 0>, strides = array<i64: 1, 1>, window = array<i64: 4, 1>}
// CHECK: %[[V19:.*]] = gantry.reshape %[[V18]]{{.*}} -> tensor<1x6x2xf32>
// CHECK: %[[V20:.*]] = gantry.constant dense<7.500000e-01> : tensor<f32>
// CHECK: %[[V21:.*]] = gantry.mul %[[V20]], %[[X]]
// CHECK: %[[V22:.*]] = gantry.mul %[[V21]], %[[V19]]
// CHECK: %[[V23:.*]] = gantry.sub %[[V12]], %[[V22]]
// CHECK: return %[[V23]]
func.func @lrn(%x: tensor<1x6x2xf32>, %s: tensor<1x6x2xf32>) -> tensor<1x6x2xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<1x6x2xf32>, tensor<1x6x2xf32>) -> (tensor<1x6x2xf32>, tensor<1x6x2xf32>) {
  ^bb0(%x1: tensor<1x6x2xf32>):
    %y = gantry.lrn %x1 {size = 4 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64} : (tensor<1x6x2xf32>) -> tensor<1x6x2xf32>
    gantry.yield %y : tensor<1x6x2xf32>
  }
  return %0#1 : tensor<1x6x2xf32>
}

// Each element gathers from those that read it.
// CHECK-LABEL: @resize(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x2xf32>, %[[S:[^:]*]]: tensor<1x2x4xf32>
// CHECK: %[[V1:.*]] = gantry.resize %[[X]] {coordinate_mode = #gantry<coordinate_mode asymmetric>, cubic_coefficient = -7.500000e-01 : f64, extrapolation = 0.000000e+00 : f64, mode = #gantry<resize_mode nearest>, nearest_mode = #gantry<nearest_mode floor>, roi = array<f64>, scales = array<f64: 1.000000e+00, 1.000000e+00, 2.000000e+00>}
// CHECK: %[[V2:.*]] = gantry.constant dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>
// CHECK: %[[V3:.*]] = gantry.gather %[[S]], %[[V2]] {axis = 2 : i64}
// CHECK: %[[V4:.*]] = gantry.reduce_sum %[[V3]] {axes = array<i64: 3>}
// CHECK: return %[[V4]]
func.func @resize(%x: tensor<1x2x2xf32>, %s: tensor<1x2x4xf32>) -> tensor<1x2x2xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<1x2x2xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x2xf32>) {
  ^bb0(%x1: tensor<1x2x2xf32>):
    %y = gantry.resize %x1 {mode = #gantry<resize_mode nearest>, coordinate_mode = #gantry<coordinate_mode asymmetric>, nearest_mode = #gantry<nearest_mode floor>, scales = array<f64: 1.0, 1.0, 2.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64} : (tensor<1x2x2xf32>) -> tensor<1x2x4xf32>
    gantry.yield %y : tensor<1x2x4xf32>
  }
  return %0#1 : tensor<1x2x2xf32>
}
