// RUN: gantry-opt %s --gantry-expand-gradients | FileCheck %s

// Gathers and scatters.

// Rows are added up in the order of their indices.
// CHECK-LABEL: @gather(
// CHECK-SAME: %[[X:[^:]*]]: tensor<5x3xf32>, %[[I:[^:]*]]: tensor<4xi64>, %[[S:[^:]*]]: tensor<4x3xf32>
// CHECK: %[[V1:.*]] = gantry.gather %[[X]], %[[I]] {axis = 0 : i64}
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.broadcast %[[V2]]{{.*}} -> tensor<5x3xf32>
// CHECK: %[[V4:.*]] = gantry.reshape %[[I]]{{.*}} -> tensor<4x1xi64>
// CHECK: %[[V5:.*]] = gantry.scatter_nd %[[V3]], %[[V4]], %[[S]] {reduction = #gantry<reduction add>}
// CHECK: return %[[V5]]
func.func @gather(%x: tensor<5x3xf32>, %i: tensor<4xi64>, %s: tensor<4x3xf32>) -> tensor<5x3xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<5x3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<5x3xf32>) {
  ^bb0(%x1: tensor<5x3xf32>):
    %y = gantry.gather %x1, %i {axis = 0 : i64} : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    gantry.yield %y : tensor<4x3xf32>
  }
  return %0#1 : tensor<5x3xf32>
}

// Along another axis that one comes first.
// CHECK-LABEL: @gather_columns(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x5xf32>, %[[I:[^:]*]]: tensor<4xi64>, %[[S:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[V1:.*]] = gantry.gather %[[X]], %[[I]] {axis = 1 : i64}
// CHECK: %[[V2:.*]] = gantry.transpose %[[S]] {permutation = array<i64: 1, 0>}
// CHECK: %[[V3:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.broadcast %[[V3]]{{.*}} -> tensor<5x3xf32>
// CHECK: %[[V5:.*]] = gantry.reshape %[[I]]{{.*}} -> tensor<4x1xi64>
// CHECK: %[[V6:.*]] = gantry.scatter_nd %[[V4]], %[[V5]], %[[V2]] {reduction = #gantry<reduction add>}
// CHECK: %[[V7:.*]] = gantry.transpose %[[V6]] {permutation = array<i64: 1, 0>}
// CHECK: return %[[V7]]
func.func @gather_columns(%x: tensor<3x5xf32>, %i: tensor<4xi64>, %s: tensor<3x4xf32>) -> tensor<3x5xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<3x5xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x5xf32>) {
  ^bb0(%x1: tensor<3x5xf32>):
    %y = gantry.gather %x1, %i {axis = 1 : i64} : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<3x4xf32>
    gantry.yield %y : tensor<3x4xf32>
  }
  return %0#1 : tensor<3x5xf32>
}

// At one index a slice is written.
// CHECK-LABEL: @gather_one(
// CHECK-SAME: %[[X:[^:]*]]: tensor<5x3xf32>, %[[I:[^:]*]]: tensor<i64>, %[[S:[^:]*]]: tensor<3xf32>
// CHECK: %[[V1:.*]] = gantry.gather %[[X]], %[[I]] {axis = 0 : i64}
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.broadcast %[[V2]]{{.*}} -> tensor<5x3xf32>
// CHECK: %[[V4:.*]] = gantry.set_slice %[[V3]], %[[S]], %[[I]] {axis = 0 : i64}
// CHECK: return %[[V4]]
func.func @gather_one(%x: tensor<5x3xf32>, %i: tensor<i64>, %s: tensor<3xf32>) -> tensor<5x3xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
  ^bb0(%x1: tensor<5x3xf32>):
    %y = gantry.gather %x1, %i {axis = 0 : i64} : (tensor<5x3xf32>, tensor<i64>) -> tensor<3xf32>
    gantry.yield %y : tensor<3xf32>
  }
  return %0#1 : tensor<5x3xf32>
}

// Dimensions of a batch become components.
// CHECK-LABEL: @gather_nd(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x5x3xf32>, %[[I:[^:]*]]: tensor<2x1xi64>, %[[S:[^:]*]]: tensor<2x3xf32>
// CHECK: %[[V1:.*]] = gantry.gather_nd %[[X]], %[[I]] {batch_dims = 1 : i64}
// CHECK: %[[V2:.*]] = gantry.iota  {axis = 0 : i64}
// CHECK: %[[V3:.*]] = gantry.concat %[[V2]], %[[I]] {axis = 1 : i64}
// CHECK: %[[V4:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V5:.*]] = gantry.broadcast %[[V4]]{{.*}} -> tensor<2x5x3xf32>
// CHECK: %[[V6:.*]] = gantry.scatter_nd %[[V5]], %[[V3]], %[[S]] {reduction = #gantry<reduction add>}
// CHECK: return %[[V6]]
func.func @gather_nd(%x: tensor<2x5x3xf32>, %i: tensor<2x1xi64>, %s: tensor<2x3xf32>) -> tensor<2x5x3xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x5x3xf32>) {
  ^bb0(%x1: tensor<2x5x3xf32>):
    %y = gantry.gather_nd %x1, %i {batch_dims = 1 : i64} : (tensor<2x5x3xf32>, tensor<2x1xi64>) -> tensor<2x3xf32>
    gantry.yield %y : tensor<2x3xf32>
  }
  return %0#1 : tensor<2x5x3xf32>
}

// A row that is read ten thousand times is a sum in f32.
// CHECK-LABEL: @gather_narrow(
// CHECK-SAME: %[[X:[^:]*]]: tensor<5xf16>, %[[I:[^:]*]]: tensor<9xi64>, %[[S:[^:]*]]: tensor<9xf16>
// CHECK: %[[V1:.*]] = gantry.gather %[[X]], %[[I]] {axis = 0 : i64}
// CHECK: %[[V2:.*]] = gantry.cast %[[S]]{{.*}} -> tensor<9xf32>
// CHECK: %[[V3:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.broadcast %[[V3]]{{.*}} -> tensor<5xf32>
// CHECK: %[[V5:.*]] = gantry.reshape %[[I]]{{.*}} -> tensor<9x1xi64>
// CHECK: %[[V6:.*]] = gantry.scatter_nd %[[V4]], %[[V5]], %[[V2]] {reduction = #gantry<reduction add>}
// CHECK: %[[V7:.*]] = gantry.cast %[[V6]]{{.*}} -> tensor<5xf16>
// CHECK: return %[[V7]]
func.func @gather_narrow(%x: tensor<5xf16>, %i: tensor<9xi64>, %s: tensor<9xf16>) -> tensor<5xf16> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<5xf16>, tensor<9xf16>) -> (tensor<9xf16>, tensor<5xf16>) {
  ^bb0(%x1: tensor<5xf16>):
    %y = gantry.gather %x1, %i {axis = 0 : i64} : (tensor<5xf16>, tensor<9xi64>) -> tensor<9xf16>
    gantry.yield %y : tensor<9xf16>
  }
  return %0#1 : tensor<5xf16>
}

// Every update has a gradient,
// CHECK-LABEL: @scatter_add(
// CHECK-SAME: %[[X:[^:]*]]: tensor<5xf32>, %[[I:[^:]*]]: tensor<3xi64>, %[[U:[^:]*]]: tensor<3xf32>, %[[S:[^:]*]]: tensor<5xf32>
// CHECK: %[[V1:.*]] = gantry.scatter_elements %[[X]], %[[I]], %[[U]] {axis = 0 : i64, reduction = #gantry<reduction add>}
// CHECK: %[[V2:.*]] = gantry.gather_elements %[[S]], %[[I]] {axis = 0 : i64}
// CHECK: return %[[S]], %[[V2]]
func.func @scatter_add(%x: tensor<5xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>, %s: tensor<5xf32>) -> (tensor<5xf32>, tensor<3xf32>) {
  %0:3 = gantry.gradient (%x, %u, %s) seeds 1 : (tensor<5xf32>, tensor<3xf32>, tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<3xf32>) {
  ^bb0(%x1: tensor<5xf32>, %u1: tensor<3xf32>):
    %y = gantry.scatter_elements %x1, %i, %u1 {axis = 0 : i64, reduction = #gantry<reduction add>} : (tensor<5xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<5xf32>
    gantry.yield %y : tensor<5xf32>
  }
  return %0#1, %0#2 : tensor<5xf32>, tensor<3xf32>
}

// or, where they replace, the last one of an element.
// CHECK-LABEL: @scatter_none(
// CHECK-SAME: %[[X:[^:]*]]: tensor<5xf32>, %[[I:[^:]*]]: tensor<3xi64>, %[[U:[^:]*]]: tensor<3xf32>, %[[S:[^:]*]]: tensor<5xf32>
// CHECK: %[[V1:.*]] = gantry.scatter_elements %[[X]], %[[I]], %[[U]] {axis = 0 : i64, reduction = #gantry<reduction none>}
// CHECK: %[[V2:.*]] = gantry.iota  {axis = 0 : i64}
// CHECK: %[[V3:.*]] = gantry.constant dense<-1> : tensor<i64>
// CHECK: %[[V4:.*]] = gantry.broadcast %[[V3]]{{.*}} -> tensor<5xi64>
// CHECK: %[[V5:.*]] = gantry.scatter_elements %[[V4]], %[[I]], %[[V2]] {axis = 0 : i64, reduction = #gantry<reduction none>}
// CHECK: %[[V6:.*]] = gantry.constant dense<0> : tensor<i64>
// CHECK: %[[V7:.*]] = gantry.compare {{ *}}lt, %[[V5]], %[[V6]]
// CHECK: %[[V8:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V9:.*]] = gantry.select %[[V7]], %[[S]], %[[V8]]
// CHECK: %[[V10:.*]] = gantry.gather_elements %[[V5]], %[[I]] {axis = 0 : i64}
// CHECK: %[[V11:.*]] = gantry.compare {{ *}}eq, %[[V10]], %[[V2]]
// CHECK: %[[V12:.*]] = gantry.gather_elements %[[S]], %[[I]] {axis = 0 : i64}
// CHECK: %[[V13:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V14:.*]] = gantry.select %[[V11]], %[[V12]], %[[V13]]
// CHECK: return %[[V9]], %[[V14]]
func.func @scatter_none(%x: tensor<5xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>, %s: tensor<5xf32>) -> (tensor<5xf32>, tensor<3xf32>) {
  %0:3 = gantry.gradient (%x, %u, %s) seeds 1 : (tensor<5xf32>, tensor<3xf32>, tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<3xf32>) {
  ^bb0(%x1: tensor<5xf32>, %u1: tensor<3xf32>):
    %y = gantry.scatter_elements %x1, %i, %u1 {axis = 0 : i64, reduction = #gantry<reduction none>} : (tensor<5xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<5xf32>
    gantry.yield %y : tensor<5xf32>
  }
  return %0#1, %0#2 : tensor<5xf32>, tensor<3xf32>
}

// The update gets its slice, which is read before zeros are written over it.
// CHECK-LABEL: @set_slice(
// CHECK-SAME: %[[X:[^:]*]]: tensor<5x3xf32>, %[[U:[^:]*]]: tensor<3xf32>, %[[I:[^:]*]]: tensor<i64>, %[[S:[^:]*]]: tensor<5x3xf32>
// CHECK: %[[V1:.*]] = gantry.set_slice %[[X]], %[[U]], %[[I]] {axis = 0 : i64}
// CHECK: %[[V5:.*]] = gantry.gather %[[S]], %[[I]] {axis = 0 : i64}
// CHECK: %[[V2:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.broadcast %[[V2]]{{.*}} -> tensor<3xf32>
// CHECK: %[[V4:.*]] = gantry.set_slice %[[S]], %[[V3]], %[[I]] {axis = 0 : i64}
// CHECK: return %[[V4]], %[[V5]]
func.func @set_slice(%x: tensor<5x3xf32>, %u: tensor<3xf32>, %i: tensor<i64>, %s: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>) {
  %0:3 = gantry.gradient (%x, %u, %s) seeds 1 : (tensor<5x3xf32>, tensor<3xf32>, tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<3xf32>) {
  ^bb0(%x1: tensor<5x3xf32>, %u1: tensor<3xf32>):
    %y = gantry.set_slice %x1, %u1, %i {axis = 0 : i64} : (tensor<5x3xf32>, tensor<3xf32>, tensor<i64>) -> tensor<5x3xf32>
    gantry.yield %y : tensor<5x3xf32>
  }
  return %0#1, %0#2 : tensor<5x3xf32>, tensor<3xf32>
}

// Its two values.
// CHECK-LABEL: @one_hot(
// CHECK-SAME: %[[I:[^:]*]]: tensor<3xi64>, %[[L:[^:]*]]: tensor<f32>, %[[H:[^:]*]]: tensor<f32>, %[[S:[^:]*]]: tensor<3x4xf32>
// CHECK: %[[V1:.*]] = gantry.one_hot %[[I]], %[[L]], %[[H]] {axis = 1 : i64, depth = 4 : i64}
// CHECK: %[[V2:.*]] = gantry.constant dense<false> : tensor<i1>
// CHECK: %[[V3:.*]] = gantry.constant dense<true> : tensor<i1>
// CHECK: %[[V4:.*]] = gantry.one_hot %[[I]], %[[V2]], %[[V3]] {axis = 1 : i64, depth = 4 : i64}
// CHECK: %[[V5:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V6:.*]] = gantry.select %[[V4]], %[[V5]], %[[S]]
// CHECK: %[[V7:.*]] = gantry.reduce_sum %[[V6]] {axes = array<i64: 0, 1>}
// CHECK: %[[V8:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V9:.*]] = gantry.select %[[V4]], %[[S]], %[[V8]]
// CHECK: %[[V10:.*]] = gantry.reduce_sum %[[V9]] {axes = array<i64: 0, 1>}
// CHECK: return %[[V7]], %[[V10]]
func.func @one_hot(%i: tensor<3xi64>, %l: tensor<f32>, %h: tensor<f32>, %s: tensor<3x4xf32>) -> (tensor<f32>, tensor<f32>) {
  %0:3 = gantry.gradient (%l, %h, %s) seeds 1 : (tensor<f32>, tensor<f32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<f32>, tensor<f32>) {
  ^bb0(%l1: tensor<f32>, %h1: tensor<f32>):
    %y = gantry.one_hot %i, %l1, %h1 {axis = 1 : i64, depth = 4 : i64} : (tensor<3xi64>, tensor<f32>, tensor<f32>) -> tensor<3x4xf32>
    gantry.yield %y : tensor<3x4xf32>
  }
  return %0#1, %0#2 : tensor<f32>, tensor<f32>
}
