// RUN: gantry-opt %s --gantry-resolve-calls | FileCheck %s

// The body takes the call's place, through several levels; private functions without uses go.
// CHECK-LABEL: func.func @nested(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = gantry.relu %[[X]]
// CHECK-NEXT: %[[B:.*]] = gantry.exp %[[A]]
// CHECK-NEXT: return %[[B]]
// CHECK-NOT: func.func private
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Two calls, two bodies.
// CHECK-LABEL: func.func @twice(
// CHECK: %[[A:.*]] = gantry.neg %{{.*}}
// CHECK: gantry.neg %[[A]]
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @public(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @public(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A public function stays.
// CHECK-LABEL: func.func @public(
// CHECK: gantry.neg
func.func @public(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A request on the call holds for the ops that have none, in bodies as well.
// CHECK-LABEL: func.func @p2_call_in_a_scope(
// CHECK: gantry.exp %{{.*}} {gantry.device = #gantry.device<"GPU:0">}
// CHECK: gantry.relu %{{.*}} {gantry.device = #gantry.device<"CPU:0">}
// CHECK: gantry.if
// CHECK: gantry.neg %{{.*}} {gantry.device = #gantry.device<"GPU:0">}
func.func @p2_call_in_a_scope(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @mixed(%c, %x) {gantry.device = #gantry.device<"GPU:0">} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @mixed(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %0 {gantry.device = #gantry.device<"CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.if %c -> (tensor<4xf32>) {
    %3 = gantry.neg %1 : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %3 : tensor<4xf32>
  } else {
    gantry.yield %1 : tensor<4xf32>
  } : tensor<i1>
  return %2 : tensor<4xf32>
}

// Calls in bodies of control flow; a function that gives its argument back.
// CHECK-LABEL: func.func @in_a_body(
// CHECK-SAME: %[[C:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>
// CHECK: gantry.if
// CHECK-NEXT: gantry.yield %[[X]]
func.func @in_a_body(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.if %c -> (tensor<4xf32>) {
    %1 = func.call @same(%x) : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  } else {
    gantry.yield %x : tensor<4xf32>
  } : tensor<i1>
  return %0 : tensor<4xf32>
}
func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
