// Equal ops are one op when their requests are equal; an op that draws numbers depends on its seed
// alone, so it is no exception.

// RUN: gantry-opt %s -cse | FileCheck %s

// CHECK-LABEL: @p1_equal_requests_merge(
// CHECK: %[[Y:.*]] = gantry.relu
// CHECK-NOT: gantry.relu
// CHECK: return %[[Y]], %[[Y]]
func.func @p1_equal_requests_merge(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @p1_different_requests_stay_apart(
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"GPU:0">}
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"GPU:1">}
// CHECK: gantry.relu %{{[^{]*}} :
func.func @p1_different_requests_stay_apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @seeds_tell_draws_apart(
// CHECK-COUNT-2: gantry.random_uniform
// CHECK-NOT: gantry.random_uniform
// CHECK: return
func.func @seeds_tell_draws_apart() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.random_uniform {seed = 7 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<4xf32>
  %1 = gantry.random_uniform {seed = 8 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<4xf32>
  %2 = gantry.random_uniform {seed = 7 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// So do streams of one key.
// CHECK-LABEL: @streams_tell_draws_apart(
// CHECK-COUNT-2: gantry.random_uniform
// CHECK-NOT: gantry.random_uniform
// CHECK: return
func.func @streams_tell_draws_apart(%key: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.random_uniform %key {low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
  %1 = gantry.random_uniform %key {stream = 1 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
  %2 = gantry.random_uniform %key {low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Two copies with force are two buffers; others are one, and what nothing reads is none.
// CHECK-LABEL: @x1_forced_copies_stay_apart(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = gantry.copy %[[X]] to "GPU:1" force
// CHECK-NEXT: %[[B:.*]] = gantry.copy %[[X]] to "GPU:1" force
// CHECK-NEXT: %[[C:.*]] = gantry.copy %[[X]] to "GPU:1" :
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]], %[[C]]
func.func @x1_forced_copies_stay_apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.copy %x to "GPU:1" force : tensor<4xf32>
  %1 = gantry.copy %x to "GPU:1" force : tensor<4xf32>
  %2 = gantry.copy %x to "GPU:1" : tensor<4xf32>
  %3 = gantry.copy %x to "GPU:1" : tensor<4xf32>
  %unread = gantry.copy %x to "GPU:1" force : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Nor do they keep what is around them: a branch that nothing reads goes with the copy inside.
// CHECK-LABEL: @x1_forced_copy_in_an_unread_branch(
// CHECK-NEXT: return
func.func @x1_forced_copy_in_an_unread_branch(%c: tensor<i1>, %x: tensor<4xf32>) {
  %0 = gantry.if %c -> (tensor<4xf32>) {
    %1 = gantry.copy %x to "GPU:1" force : tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  } else {
    gantry.yield %x : tensor<4xf32>
  } : tensor<i1>
  return
}
