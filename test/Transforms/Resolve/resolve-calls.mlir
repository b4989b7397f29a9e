// RUN: gantry-opt %s --gantry-resolve-calls | FileCheck %s
// RUN: gantry-opt %s --gantry-resolve-calls --gantry-resolve-scopes --mlir-print-local-scope | FileCheck %s --check-prefix=SCOPES

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

// A request on the call is a scope around the body; together with those inside it gives requests, in
// bodies of control flow as well.
// CHECK-LABEL: func.func @p2_call_in_a_scope(
// CHECK: gantry.on "GPU:0" soft prefer -> (tensor<4xf32>) {
// CHECK-NEXT: gantry.exp
// CHECK-NEXT: gantry.relu %{{.*}} {gantry.device = #gantry.device<"CPU:0">}
// SCOPES-LABEL: func.func @p2_call_in_a_scope(
// SCOPES: gantry.exp %{{.*}} {gantry.device = #gantry.device<"GPU:0">, gantry.origin = loc({{.*}}), gantry.soft = #gantry<soft prefer>}
// SCOPES: gantry.relu %{{.*}} {gantry.device = #gantry.device<"CPU:0">, gantry.soft = #gantry<soft prefer>}
// SCOPES: gantry.if
// SCOPES: gantry.neg %{{.*}} {gantry.device = #gantry.device<"GPU:0">, gantry.origin
func.func @p2_call_in_a_scope(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @mixed(%c, %x) {gantry.device = #gantry.device<"GPU:0">, gantry.soft = #gantry<soft prefer>} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
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
