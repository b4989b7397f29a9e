// RUN: gantry-opt %s --gantry-expand-gradients | FileCheck %s

// Reductions, rows, normalisations.

// To all elements.
// CHECK-LABEL: @sum(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[S:[^:]*]]: tensor<3xf32>
// CHECK: %[[V1:.*]] = gantry.reduce_sum %[[X]] {axes = array<i64: 1>}
// CHECK: %[[V2:.*]] = gantry.reshape %[[S]]{{.*}} -> tensor<3x1xf32>
// CHECK: %[[V3:.*]] = gantry.broadcast %[[V2]]{{.*}} -> tensor<3x4xf32>
// CHECK: return %[[V3]]
func.func @sum(%x: tensor<3x4xf32>, %s: tensor<3xf32>) -> tensor<3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x4xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %y = gantry.reduce_sum %x1 {axes = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
    gantry.yield %y : tensor<3xf32>
  }
  return %0#1 : tensor<3x4xf32>
}

// Divided by a number.
// CHECK-LABEL: @mean(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[S:[^:]*]]: tensor<3xf32>
// CHECK: %[[V1:.*]] = gantry.reduce_mean %[[X]] {axes = array<i64: 1>}
// CHECK: %[[V2:.*]] = gantry.reshape %[[S]]{{.*}} -> tensor<3x1xf32>
// CHECK: %[[V3:.*]] = gantry.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.div %[[V2]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.broadcast %[[V4]]{{.*}} -> tensor<3x4xf32>
// CHECK: return %[[V5]]
func.func @mean(%x: tensor<3x4xf32>, %s: tensor<3xf32>) -> tensor<3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x4xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %y = gantry.reduce_mean %x1 {axes = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
    gantry.yield %y : tensor<3xf32>
  }
  return %0#1 : tensor<3x4xf32>
}

// Even shares among equals.
// CHECK-LABEL: @max(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[S:[^:]*]]: tensor<3xf32>
// CHECK: %[[V1:.*]] = gantry.reduce_max %[[X]] {axes = array<i64: 1>}
// CHECK: %[[V2:.*]] = gantry.reshape %[[S]]{{.*}} -> tensor<3x1xf32>
// CHECK: %[[V3:.*]] = gantry.reshape %[[V1]]{{.*}} -> tensor<3x1xf32>
// CHECK: %[[V4:.*]] = gantry.compare {{ *}}eq, %[[X]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.cast %[[V4]]{{.*}} -> tensor<3x4xf32>
// CHECK: %[[V6:.*]] = gantry.reduce_sum %[[V5]] {axes = array<i64: 1>, keep_dims}
// CHECK: %[[V7:.*]] = gantry.div %[[V2]], %[[V6]]
// CHECK: %[[V8:.*]] = gantry.mul %[[V5]], %[[V7]]
// CHECK: return %[[V8]]
func.func @max(%x: tensor<3x4xf32>, %s: tensor<3xf32>) -> tensor<3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x4xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %y = gantry.reduce_max %x1 {axes = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
    gantry.yield %y : tensor<3xf32>
  }
  return %0#1 : tensor<3x4xf32>
}

// A tree of products of halves, up and down.
// CHECK-LABEL: @prod(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3xf32>, %[[S:[^:]*]]: tensor<2xf32>
// CHECK: %[[V1:.*]] = gantry.reduce_prod %[[X]] {axes = array<i64: 1>}
// CHECK: %[[V2:.*]] = gantry.transpose %[[X]] {permutation = array<i64: 0, 1>}
// CHECK: %[[V3:.*]] = gantry.reshape %[[S]]{{.*}} -> tensor<2x1xf32>
// CHECK: %[[V4:.*]] = gantry.slice %[[V2]] {sizes = array<i64: 2, 1>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>}
// CHECK: %[[V5:.*]] = gantry.slice %[[V2]] {sizes = array<i64: 2, 1>, starts = array<i64: 0, 1>, steps = array<i64: 1, 1>}
// CHECK: %[[V6:.*]] = gantry.mul %[[V4]], %[[V5]]
// CHECK: %[[V7:.*]] = gantry.slice %[[V2]] {sizes = array<i64: 2, 1>, starts = array<i64: 0, 2>, steps = array<i64: 1, 1>}
// CHECK: %[[V8:.*]] = gantry.concat %[[V6]], %[[V7]] {axis = 1 : i64}
// CHECK: %[[V9:.*]] = gantry.slice %[[V8]] {sizes = array<i64: 2, 1>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>}
// CHECK: %[[V10:.*]] = gantry.slice %[[V8]] {sizes = array<i64: 2, 1>, starts = array<i64: 0, 1>, steps = array<i64: 1, 1>}
// CHECK: %[[V11:.*]] = gantry.mul %[[V9]], %[[V10]]
// CHECK: %[[V12:.*]] = gantry.mul %[[V3]], %[[V10]]
// CHECK: %[[V13:.*]] = gantry.mul %[[V3]], %[[V9]]
// CHECK: %[[V14:.*]] = gantry.concat %[[V12]], %[[V13]] {axis = 1 : i64}
// CHECK: %[[V15:.*]] = gantry.slice %[[V14]] {sizes = array<i64: 2, 1>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>}
// CHECK: %[[V16:.*]] = gantry.mul %[[V15]], %[[V5]]
// CHECK: %[[V17:.*]] = gantry.mul %[[V15]], %[[V4]]
// CHECK: %[[V18:.*]] = gantry.slice %[[V14]] {sizes = array<i64: 2, 1>, starts = array<i64: 0, 1>, steps = array<i64: 1, 1>}
// CHECK: %[[V19:.*]] = gantry.concat %[[V16]], %[[V17]], %[[V18]] {axis = 1 : i64}
// CHECK: %[[V20:.*]] = gantry.transpose %[[V19]] {permutation = array<i64: 0, 1>}
// CHECK: return %[[V20]]
func.func @prod(%x: tensor<2x3xf32>, %s: tensor<2xf32>) -> tensor<2x3xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2x3xf32>) {
  ^bb0(%x1: tensor<2x3xf32>):
    %y = gantry.reduce_prod %x1 {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
    gantry.yield %y : tensor<2xf32>
  }
  return %0#1 : tensor<2x3xf32>
}

// The other direction.
// CHECK-LABEL: @cumsum(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.cumsum %[[X]] {axis = 0 : i64, exclusive}
// CHECK: %[[V2:.*]] = gantry.cumsum %[[S]] {axis = 0 : i64, exclusive, reverse}
// CHECK: return %[[V2]]
func.func @cumsum(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y = gantry.cumsum %x1 {axis = 0 : i64, exclusive} : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %y : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// Values to where they were.
// CHECK-LABEL: @top_k(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<2xf32>
// CHECK: %values, %indices = gantry.top_k %[[X]] {axis = 0 : i64, k = 2 : i64}
// CHECK: %[[V1:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V2:.*]] = gantry.broadcast %[[V1]]{{.*}} -> tensor<4xf32>
// CHECK: %[[V3:.*]] = gantry.scatter_elements %[[V2]], %indices, %[[S]] {axis = 0 : i64, reduction = #gantry<reduction add>}
// CHECK: return %[[V3]]
func.func @top_k(%x: tensor<4xf32>, %s: tensor<2xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<4xf32>):
    %y, %i = gantry.top_k %x1 {axis = 0 : i64, k = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
    gantry.yield %y : tensor<2xf32>
  }
  return %0#1 : tensor<4xf32>
}

// By the result.
// CHECK-LABEL: @softmax(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[S:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[V1:.*]] = gantry.softmax %[[X]] {axis = 1 : i64}
// CHECK: %[[V2:.*]] = gantry.mul %[[S]], %[[V1]]
// CHECK: %[[V3:.*]] = gantry.reduce_sum %[[V2]] {axes = array<i64: 1>, keep_dims}
// CHECK: %[[V4:.*]] = gantry.sub %[[S]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.mul %[[V1]], %[[V4]]
// CHECK: return %[[V5]]
func.func @softmax(%x: tensor<3x4xf32>, %s: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %y = gantry.softmax %x1 {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    gantry.yield %y : tensor<3x4xf32>
  }
  return %0#1 : tensor<3x4xf32>
}

// By the result.
// CHECK-LABEL: @log_softmax(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[S:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[V1:.*]] = gantry.log_softmax %[[X]] {axis = 1 : i64}
// CHECK: %[[V2:.*]] = gantry.exp %[[V1]]
// CHECK: %[[V3:.*]] = gantry.reduce_sum %[[S]] {axes = array<i64: 1>, keep_dims}
// CHECK: %[[V4:.*]] = gantry.mul %[[V2]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.sub %[[S]], %[[V4]]
// CHECK: return %[[V5]]
func.func @log_softmax(%x: tensor<3x4xf32>, %s: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %y = gantry.log_softmax %x1 {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    gantry.yield %y : tensor<3x4xf32>
  }
  return %0#1 : tensor<3x4xf32>
}

// Of one element of each row: nothing is zeros for the others, and no sum has one term.
// CHECK-LABEL: @log_softmax_of_one_per_row(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[I:[^:]*]]: tensor<3x1xi32>, %[[S:[^:]*]]: tensor<3x1xf32>
// CHECK: %[[V1:.*]] = gantry.log_softmax %[[X]] {axis = 1 : i64}
// CHECK-NOT: gantry.reduce_sum
// CHECK: %[[V2:.*]] = gantry.exp %[[V1]]
// CHECK: %[[V3:.*]] = gantry.mul %[[V2]], %[[S]]
// CHECK: %[[V4:.*]] = gantry.sub %{{.*}}, %[[V3]] : (tensor<f32>, tensor<3x4xf32>)
// CHECK: %[[V5:.*]] = gantry.scatter_elements %[[V4]], %[[I]], %[[S]] {axis = 1 : i64, reduction = #gantry<reduction add>}
// CHECK: return %[[V5]]
func.func @log_softmax_of_one_per_row(%x: tensor<3x4xf32>, %i: tensor<3x1xi32>, %s: tensor<3x1xf32>) -> tensor<3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x4xf32>, tensor<3x1xf32>) -> (tensor<3x1xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %y = gantry.log_softmax %x1 {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %z = gantry.gather_elements %y, %i {axis = 1 : i64} : (tensor<3x4xf32>, tensor<3x1xi32>) -> tensor<3x1xf32>
    gantry.yield %z : tensor<3x1xf32>
  }
  return %0#1 : tensor<3x4xf32>
}

// Of two elements of a row the sum is one.
// CHECK-LABEL: @log_softmax_of_two_per_row(
// CHECK: gantry.scatter_elements
// CHECK: gantry.reduce_sum
// CHECK-NOT: gantry.scatter_elements
// CHECK: return
func.func @log_softmax_of_two_per_row(%x: tensor<3x4xf32>, %i: tensor<3x2xi32>, %s: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x4xf32>, tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %y = gantry.log_softmax %x1 {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %z = gantry.gather_elements %y, %i {axis = 1 : i64} : (tensor<3x4xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
    gantry.yield %z : tensor<3x2xf32>
  }
  return %0#1 : tensor<3x4xf32>
}

// Mean and deviation are computed again; two sums a row.
// CHECK-LABEL: @layer_norm(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[G:[^:]*]]: tensor<4xf32>, %[[B:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[V1:.*]] = gantry.layer_norm %[[X]], %[[G]], %[[B]] {axis = 1 : i64, epsilon = 1.000000e-02 : f64}
// CHECK: %[[V2:.*]] = gantry.reduce_mean %[[X]] {axes = array<i64: 1>, keep_dims}
// CHECK: %[[V3:.*]] = gantry.sub %[[X]], %[[V2]]
// CHECK: %[[V4:.*]] = gantry.mul %[[V3]], %[[V3]]
// CHECK: %[[V5:.*]] = gantry.reduce_mean %[[V4]] {axes = array<i64: 1>, keep_dims}
// CHECK: %[[V6:.*]] = gantry.constant dense<0.00999999977> : tensor<f32>
// CHECK: %[[V7:.*]] = gantry.add %[[V5]], %[[V6]]
// CHECK: %[[V8:.*]] = gantry.rsqrt %[[V7]]
// CHECK: %[[V9:.*]] = gantry.mul %[[V3]], %[[V8]]
// CHECK: %[[V10:.*]] = gantry.mul %[[S]], %[[G]]
// CHECK: %[[V11:.*]] = gantry.mul %[[V10]], %[[V9]]
// CHECK: %[[V12:.*]] = gantry.reduce_mean %[[V11]] {axes = array<i64: 1>, keep_dims}
// CHECK: %[[V13:.*]] = gantry.mul %[[V9]], %[[V12]]
// CHECK: %[[V14:.*]] = gantry.sub %[[V10]], %[[V13]]
// CHECK: %[[V15:.*]] = gantry.reduce_mean %[[V10]] {axes = array<i64: 1>, keep_dims}
// CHECK: %[[V16:.*]] = gantry.sub %[[V14]], %[[V15]]
// CHECK: %[[V17:.*]] = gantry.mul %[[V8]], %[[V16]]
// CHECK: %[[V18:.*]] = gantry.mul %[[S]], %[[V9]]
// CHECK: %[[V19:.*]] = gantry.reduce_sum %[[V18]] {axes = array<i64: 0>}
// CHECK: %[[V20:.*]] = gantry.reduce_sum %[[S]] {axes = array<i64: 0>}
// CHECK: return %[[V17]], %[[V19]], %[[V20]]
func.func @layer_norm(%x: tensor<3x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>, %s: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:4 = gantry.gradient (%x, %g, %b, %s) seeds 1 : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>, %g1: tensor<4xf32>, %b1: tensor<4xf32>):
    %y = gantry.layer_norm %x1, %g1, %b1 {axis = 1 : i64, epsilon = 0.01 : f64} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    gantry.yield %y : tensor<3x4xf32>
  }
  return %0#1, %0#2, %0#3 : tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Statistics that are given have gradients.
// CHECK-LABEL: @batch_norm(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3x4xf32>, %[[G:[^:]*]]: tensor<3xf32>, %[[B:[^:]*]]: tensor<3xf32>, %[[M:[^:]*]]: tensor<3xf32>, %[[V:[^:]*]]: tensor<3xf32>, %[[S:[^:]*]]: tensor<2x3x4xf32>
// CHECK: %[[V1:.*]] = gantry.batch_norm %[[X]], %[[G]], %[[B]], %[[M]], %[[V]] {epsilon = 1.000000e-02 : f64}
// CHECK: %[[V2:.*]] = gantry.reshape %[[M]]{{.*}} -> tensor<3x1xf32>
// CHECK: %[[V3:.*]] = gantry.sub %[[X]], %[[V2]]
// CHECK: %[[V4:.*]] = gantry.constant dense<0.00999999977> : tensor<f32>
// CHECK: %[[V5:.*]] = gantry.add %[[V]], %[[V4]]
// CHECK: %[[V6:.*]] = gantry.rsqrt %[[V5]]
// CHECK: %[[V7:.*]] = gantry.mul %[[V6]], %[[G]]
// CHECK: %[[V8:.*]] = gantry.reshape %[[V7]]{{.*}} -> tensor<3x1xf32>
// CHECK: %[[V9:.*]] = gantry.mul %[[S]], %[[V8]]
// CHECK: %[[V10:.*]] = gantry.reduce_sum %[[S]] {axes = array<i64: 0, 2>, keep_dims}
// CHECK: %[[V11:.*]] = gantry.reshape %[[V10]]{{.*}} -> tensor<3xf32>
// CHECK: %[[V12:.*]] = gantry.neg %[[V11]]
// CHECK: %[[V13:.*]] = gantry.mul %[[V6]], %[[G]]
// CHECK: %[[V14:.*]] = gantry.mul %[[V12]], %[[V13]]
// CHECK: %[[V15:.*]] = gantry.mul %[[S]], %[[V3]]
// CHECK: %[[V16:.*]] = gantry.reduce_sum %[[V15]] {axes = array<i64: 0, 2>, keep_dims}
// CHECK: %[[V17:.*]] = gantry.reshape %[[V16]]{{.*}} -> tensor<3xf32>
// CHECK: %[[V18:.*]] = gantry.constant dense<-5.000000e-01> : tensor<f32>
// CHECK: %[[V19:.*]] = gantry.mul %[[V18]], %[[V17]]
// CHECK: %[[V20:.*]] = gantry.mul %[[V6]], %[[V6]]
// CHECK: %[[V21:.*]] = gantry.mul %[[V20]], %[[V6]]
// CHECK: %[[V22:.*]] = gantry.mul %[[G]], %[[V21]]
// CHECK: %[[V23:.*]] = gantry.mul %[[V19]], %[[V22]]
// CHECK: return %[[V9]], %[[V14]], %[[V23]]
func.func @batch_norm(%x: tensor<2x3x4xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>, %s: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0:4 = gantry.gradient (%x, %m, %v, %s) seeds 1 : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%x1: tensor<2x3x4xf32>, %m1: tensor<3xf32>, %v1: tensor<3xf32>):
    %y = gantry.batch_norm %x1, %g, %b, %m1, %v1 {epsilon = 0.01 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
    gantry.yield %y : tensor<2x3x4xf32>
  }
  return %0#1, %0#2, %0#3 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
}

// A variance: the deviations have their way back to the mean, too, along which they add up to zero: only what else the
// deviation is for is added up.
// CHECK-LABEL: @variance(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x4xf32>, %[[S:[^:]*]]: tensor<1x4xf32>, %[[T:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[D:.*]] = gantry.sub %[[X]]
// CHECK: %[[A:.*]] = gantry.add
// CHECK: %[[N:.*]] = gantry.neg %[[T]]
// CHECK: gantry.reduce_sum %[[N]] {axes = array<i64: 0>}
// CHECK-NOT: gantry.reduce_sum
// CHECK: return
func.func @variance(%x: tensor<3x4xf32>, %s: tensor<1x4xf32>, %t: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0:3 = gantry.gradient (%x, %s, %t) seeds 2 : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<3x4xf32>) -> (tensor<1x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  ^bb0(%x1: tensor<3x4xf32>):
    %m = gantry.reduce_mean %x1 {axes = array<i64: 0>, keep_dims} : (tensor<3x4xf32>) -> tensor<1x4xf32>
    %d = gantry.sub %x1, %m : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
    %q = gantry.mul %d, %d : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %v = gantry.reduce_mean %q {axes = array<i64: 0>, keep_dims} : (tensor<3x4xf32>) -> tensor<1x4xf32>
    gantry.yield %v, %d : tensor<1x4xf32>, tensor<3x4xf32>
  }
  return %0#2 : tensor<3x4xf32>
}
