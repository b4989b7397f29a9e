// Loops that are known to run so many times are predicted to take what they take on the virtual clock: in
// a loop, next to each other, with copies between devices. Of one whose end depends on data the first
// round is predicted.

// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s
// CHECK: plan.while %{{[0-9]+}} trips 1000 {
// CHECK: plan.while %{{[0-9]+}} trips 7 {
// CHECK: plan.while %{{[0-9]+}} trips 50 {

// RUN: gantry explain %t.gantry --json > %t.json
// RUN: gantry run %t.gantry -v --fill ones 2> %t.clock
// RUN: %python %S/Inputs/loop_time.py %t.json %t.clock

!t = tensor<64x64xf32>
!n = tensor<i64>
func.func @main(%x: !t) -> (!t {gantry.name = "y"}) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %many = gantry.constant dense<1000> : tensor<i64>
  %seven = gantry.constant dense<7> : tensor<i64>
  %fifty = gantry.constant dense<50> : tensor<i64>
  %a, %u = gantry.while (%zero, %x) : (!n, !t) -> (!n, !t) {
  ^bb0(%i: !n, %v: !t):
    %more = gantry.compare lt, %i, %many : (!n, !n) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%i: !n, %v: !t):
    %next = gantry.add %i, %one : (!n, !n) -> !n
    %w = gantry.softmax %v {axis = 1 : i64, gantry.device = #gantry.device<"GPU:0">} : (!t) -> !t
    gantry.yield %next, %w : !n, !t
  }
  %b, %y = gantry.while (%zero, %u) : (!n, !t) -> (!n, !t) {
  ^bb0(%i: !n, %v: !t):
    %more = gantry.compare lt, %i, %seven : (!n, !n) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%i: !n, %v: !t):
    %next = gantry.add %i, %one : (!n, !n) -> !n
    %c, %z = gantry.while (%zero, %v) : (!n, !t) -> (!n, !t) {
    ^bb0(%j: !n, %p: !t):
      %more = gantry.compare lt, %j, %fifty : (!n, !n) -> tensor<i1>
      gantry.yield %more : tensor<i1>
    } do {
    ^bb0(%j: !n, %p: !t):
      %q = gantry.matmul %p, %p {gantry.device = #gantry.device<"CPU:0">} : (!t, !t) -> !t
      %r = gantry.softmax %q {axis = 1 : i64, gantry.device = #gantry.device<"GPU:0">} : (!t) -> !t
      %k = gantry.add %j, %one : (!n, !n) -> !n
      gantry.yield %k, %r : !n, !t
    }
    gantry.yield %next, %z : !n, !t
  }
  return %y : !t
}
