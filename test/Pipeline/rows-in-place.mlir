// A loop that fills an array a row a step moves a row a step: the array is the function's output, the
// kernel that writes a row copies nothing else, and what it carries besides is updated in place.
// RUN: gantry compile %s --stop-after=schedule -o - | FileCheck %s --check-prefix=PLAN
// RUN: gantry compile %s --stop-after=llvm --target-cpu=x86-64-v3 -o - | FileCheck %s --check-prefix=CODE
// RUN: gantry run %s --fill ramp | FileCheck %s

// PLAN: %[[ROWS:.*]] = plan.output 0
// PLAN: plan.launch @broadcast_0() -> (%[[ROWS]])
// PLAN: plan.while
// PLAN: } do {
// PLAN-NOT: plan.copy
// PLAN: plan.launch @set_slice_0(%[[ROWS]], %{{.*}}, %[[I:.*]]) -> (%[[ROWS]])
// PLAN-NOT: plan.copy
// PLAN: plan.launch @add_1(%[[I]]) -> (%[[I]])
// PLAN-NOT: plan.copy
// PLAN: }

// Not a branch is left, so no loop.
// CODE: define void @set_slice_0(
// CODE-NOT: br
// CODE: ret void

// CHECK: {{\[\[}}  0.   1.   2.   3.]
// CHECK-NEXT: [  1.   2.   3.   4.]
// CHECK: [299. 300. 301. 302.]]
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<300x4xf32> {
    %zero = gantry.constant dense<0> : tensor<i64>
    %one = gantry.constant dense<1> : tensor<i64>
    %many = gantry.constant dense<300> : tensor<i64>
    %nothing = gantry.constant dense<0.0> : tensor<f32>
    %empty = gantry.broadcast %nothing : (tensor<f32>) -> tensor<300x4xf32>
    %0:2 = gantry.while (%zero, %empty) : (tensor<i64>, tensor<300x4xf32>) -> (tensor<i64>, tensor<300x4xf32>) {
    ^bb0(%i: tensor<i64>, %rows: tensor<300x4xf32>):
      %more = gantry.compare lt, %i, %many : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %more : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %rows: tensor<300x4xf32>):
      %number = gantry.cast %i : (tensor<i64>) -> tensor<f32>
      %row = gantry.add %x, %number : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %with = gantry.set_slice %rows, %row, %i {axis = 0 : i64} : (tensor<300x4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<300x4xf32>
      %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %next, %with : tensor<i64>, tensor<300x4xf32>
    }
    return %0#1 : tensor<300x4xf32>
  }
}
