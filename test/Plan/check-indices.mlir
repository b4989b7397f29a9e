// Checks of indices, from the flag to the plan.

// Without the flag there is none; with it, kernels are what they were.
// RUN: gantry compile %s -o %t.off.gantry 2>/dev/null
// RUN: gantry plan-text %t.off.gantry | FileCheck %s --check-prefix=OFF
// OFF-NOT: plan.check

// RUN: gantry compile %s -o %t.gantry --check-indices 2>/dev/null
// RUN: gantry plan-text %t.gantry | FileCheck %s --enable-var-scope
// RUN: gantry plan-text %t.gantry | gantry-opt | FileCheck %s --enable-var-scope
// RUN: gantry run %t.gantry --function pick --fill x=ramp --fill i=randint:-9:9 2>/dev/null
// RUN: not gantry run %t.gantry --function pick --fill x=ramp --fill i=randint:9:10 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: 'pick' (GatherV2, check-indices.mlir:{{[0-9]+}}:{{[0-9]+}}): reads index 9 at [0] of operand 'i', which must be in [-9, 9)

// On a GPU the indices of the caller are still checked on the host, and what is found of those that
// the GPU makes is copied there.
// RUN: gantry compile %s -o %t.gpu.gantry --check-indices --devices=CPU:0,GPU:0 --simulate 2>/dev/null
// RUN: gantry plan-text %t.gpu.gantry | FileCheck %s --check-prefix=GPU --enable-var-scope
// RUN: not gantry run %t.gpu.gantry --function pick --sim-order random:3 --fill x=ramp --fill i=randint:9:10 2>&1 | FileCheck %s --check-prefix=BAD

// The bytes of what was found count in the budget of copies.
// RUN: not gantry compile %s -o %t.no.gantry --entry=made --check-indices --devices=CPU:0,GPU:0 --simulate --max-copy d2h:80 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: gantry compile %s -o %t.no.gantry --entry=made --check-indices --devices=CPU:0,GPU:0 --simulate --max-copy d2h:92 2>/dev/null
// BUDGET: 16 {{.*}}gantry.assert_indices 'pick'

// CHECK: plan.func @pick
// CHECK: %[[I:.*]] = plan.input 1 size 24
// CHECK: %[[F:.*]] = plan.buffer size 16 on @d0 in @transient_d0 at {{[0-9]+}} "pick/first_bad_index" : tensor<2xi64>
// CHECK: plan.launch @first_bad_index_0(%[[I]]) -> (%[[F]])
// CHECK-NEXT: plan.check %[[F]] of "i" shape [3] sizes [9] on @d0 "pick" is "GatherV2" at "check-indices.mlir:
// CHECK-NEXT: plan.launch @gather
// GPU: plan.func @pick
// GPU: plan.launch @first_bad_index_0(%{{.*}}) -> (%[[F:.*]]) items 1 grain 1 {{.*}}on @d0
// GPU: plan.check %[[F]] of "i"
func.func @pick(%x: tensor<9xf32> {gantry.name = "x"}, %i: tensor<3xi64> {gantry.name = "i"}) -> tensor<3xf32> {
  %y = gantry.gather %x, %i {axis = 0 : i64, gantry.name = "pick"} : (tensor<9xf32>, tensor<3xi64>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK: plan.func @made
// GPU: plan.func @made
// GPU: plan.launch @first_bad_index_{{[0-9]+}}(%{{.*}}) -> (%[[F:.*]]) items 1 grain 1 {{.*}}on @d1
// GPU: plan.copy %[[F]] to %[[H:.*]] on @d1 queue 2 for "gantry.assert_indices 'pick'
// GPU: plan.check %[[H]] of "sum"
func.func @made(%x: tensor<9xf32> {gantry.name = "x"}, %i: tensor<19xi64> {gantry.name = "i"}) -> tensor<19xf32> {
  %s = gantry.add %i, %i {gantry.name = "sum"} : (tensor<19xi64>, tensor<19xi64>) -> tensor<19xi64>
  %y = gantry.gather %x, %s {axis = 0 : i64, gantry.name = "pick"} : (tensor<9xf32>, tensor<19xi64>) -> tensor<19xf32>
  return %y : tensor<19xf32>
}

// A variable is written behind the check, where it is.
// CHECK: plan.func @put
// CHECK-DAG: %[[V:.*]] = plan.state @{{.*}} size 32
// CHECK-DAG: %[[F:.*]] = plan.buffer size 16
// CHECK: plan.launch @first_bad_index_{{[0-9]+}}(%{{.*}}) -> (%[[F]])
// CHECK-NEXT: plan.check %[[F]] held(%[[V]])
// CHECK-NEXT: plan.launch @scatter_nd_0(%[[V]], {{.*}}) -> (%[[NEW:.*]]) items
// CHECK-NEXT: plan.launch @update_0(%[[NEW]]) -> (%[[V]])
gantry.variable @v = dense<0.0> : tensor<8xf32>
func.func @put(%i: tensor<4x1xi64>, %u: tensor<4xf32>) {
  %old = gantry.read @v : tensor<8xf32>
  %new = gantry.scatter_nd %old, %i, %u {reduction = #gantry<reduction add>} : (tensor<8xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8xf32>
  gantry.assign @v, %new : tensor<8xf32>
  return
}

// One whose next value is there before a check gets it behind that.
// CHECK: plan.func @late
// CHECK-DAG: %[[V:.*]] = plan.state @{{.*}} size 32
// CHECK: plan.launch @exp_update_0(%[[V]]) -> (%[[NEXT:.*]]) items
// CHECK: plan.check %{{.*}} held(%[[V]])
// CHECK: plan.copy %[[NEXT]] to %[[V]]
func.func @late(%x: tensor<3xf32>) -> tensor<2xf32> {
  %old = gantry.read @v : tensor<8xf32>
  %new = gantry.exp %old : (tensor<8xf32>) -> tensor<8xf32>
  gantry.assign @v, %new : tensor<8xf32>
  %top = gantry.slice %new {starts = array<i64: 0>, sizes = array<i64: 2>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<2xf32>
  %i = gantry.cast %top : (tensor<2xf32>) -> tensor<2xi64>
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
