// RUN: gantry-opt %s --gantry-bound-loops | FileCheck %s

// The loop's own counter ends it, and behind it its condition must not hold any more.
// CHECK-LABEL: @counted(
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>, %[[N:[^:]*]]: tensor<i64>
// CHECK: %[[L:.*]]:2 = gantry.while(%{{.*}}, %[[X]]) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
// CHECK-NEXT: ^bb0(%[[I:[^:]*]]: tensor<i64>, %{{.*}}: tensor<f32>):
// CHECK-NEXT: %[[C:.*]] = gantry.compare {{ *}}lt, %[[I]], %[[N]]
// CHECK-NEXT: %[[MOST:.*]] = gantry.constant dense<8> : tensor<i64>
// CHECK-NEXT: %[[B:.*]] = gantry.compare {{ *}}lt, %[[I]], %[[MOST]]
// CHECK-NEXT: %[[G:.*]] = gantry.logical_and %[[C]], %[[B]]
// CHECK-NEXT: gantry.yield %[[G]]
// CHECK: } do {
// CHECK: gantry.yield %{{.*}}, %{{.*}} : tensor<i64>, tensor<f32>
// CHECK-NEXT: } {gantry.name = "iterate"}
// CHECK-NEXT: %[[STILL:.*]] = gantry.compare {{ *}}lt, %[[L]]#0, %[[N]]
// CHECK: %[[BAD:.*]] = gantry.select %[[STILL]], %{{.*}}, %{{.*}} {gantry.name = "iterate/at_most"}
// CHECK-NEXT: %[[FIRST:.*]] = gantry.first_bad_index %[[BAD]] {gantry.name = "iterate/at_most", sizes = array<i64: 8>}
// CHECK-NEXT: gantry.assert_indices %[[FIRST]] of "rounds" shape [] sizes [8] in "iterate" is "While" says "goes on after the 8 rounds that it has at most; a larger at_most gives it more" {gantry.name = "iterate"}
func.func @counted(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %0:2 = gantry.while (%zero, %x) at_most 8 : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<f32>):
    %c = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %v: tensor<f32>):
    %1 = gantry.exp %v : (tensor<f32>) -> tensor<f32>
    %2 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %2, %1 : tensor<i64>, tensor<f32>
  } {gantry.name = "iterate"}
  return %0#1 : tensor<f32>
}

// A loop without a counter gets one.
// CHECK-LABEL: @uncounted(
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>
// CHECK: %[[ZERO:.*]] = gantry.constant dense<0> : tensor<i64>
// CHECK-NEXT: %[[L:.*]]:2 = gantry.while(%[[X]], %[[ZERO]]) : (tensor<f32>, tensor<i64>) -> (tensor<f32>, tensor<i64>) {
// CHECK-NEXT: ^bb0(%[[V:[^:]*]]: tensor<f32>, %[[I:[^:]*]]: tensor<i64>):
// CHECK: gantry.compare {{ *}}lt, %[[I]], %{{.*}} : (tensor<i64>, tensor<i64>)
// CHECK: } do {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<f32>, %[[J:[^:]*]]: tensor<i64>):
// CHECK: %[[NEXT:.*]] = gantry.add %[[J]], %{{.*}} : (tensor<i64>, tensor<i64>)
// CHECK: gantry.yield %{{.*}}, %[[NEXT]] : tensor<f32>, tensor<i64>
// CHECK: gantry.compare {{ *}}lt, %[[L]]#0, %{{.*}} : (tensor<f32>, tensor<f32>)
// CHECK: gantry.assert_indices %{{.*}} of "rounds" shape [] sizes [1] in "loop" is "While" says "goes on after the 1 round that it has at most; a larger at_most gives it more"
// CHECK: return %[[L]]#0
func.func @uncounted(%x: tensor<f32>, %most: tensor<f32>) -> tensor<f32> {
  %0 = gantry.while (%x) at_most 1 : (tensor<f32>) -> (tensor<f32>) {
  ^bb0(%v: tensor<f32>):
    %c = gantry.compare lt, %v, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%v: tensor<f32>):
    %1 = gantry.exp %v : (tensor<f32>) -> tensor<f32>
    gantry.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// A loop that is known to go round less often needs no check, and neither does one of a way back.
// CHECK-LABEL: @known(
// CHECK-NOT: at_most
// CHECK-NOT: gantry.assert_indices
// CHECK-NOT: gantry.bounded
// CHECK: return
func.func @known(%n: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %three = gantry.constant dense<3> : tensor<i64>
  %0 = gantry.while (%zero) at_most 4 : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %c = gantry.compare lt, %i, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %1 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %1 : tensor<i64>
  }
  %2 = gantry.while (%n) at_most 4 : (tensor<i64>) -> (tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %c = gantry.compare ge, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %3 = gantry.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %3 : tensor<i64>
  } {gantry.bounded}
  return %0, %2 : tensor<i64>, tensor<i64>
}
