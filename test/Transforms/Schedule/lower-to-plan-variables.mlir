// Variables in plans: one buffer over all functions, updated in place where nothing reads the old
// value later.
// RUN: gantry compile %s --stop-after=memory -o - | FileCheck %s --enable-var-scope

// Mirrors, offsets and initial values are the variable's; what no function uses is there, too.
// CHECK: plan.arena @variables_d0 variables on @d0 size 192
// CHECK-DAG: plan.variable @[[W:v[0-9]+]] "w" on @d0 in @variables_d0 offset {{[0-9]+}} size 16 : tensor<4xf32> = dense<5.000000e-01>
// CHECK-DAG: plan.variable @[[V:v[0-9]+]] "v" on @d0 in @variables_d0 offset {{[0-9]+}} size 16 : tensor<4xf32> = dense<0.000000e+00>
// CHECK-DAG: plan.variable @{{v[0-9]+}} "unused" on @d0 in @variables_d0 offset {{[0-9]+}} size 8 : tensor<i64>
gantry.variable @w = dense<0.5> : tensor<4xf32>
gantry.variable @v = dense<0.0> : tensor<4xf32>
gantry.variable @unused = dense<0> : tensor<i64>

// The kernel reads each element before it writes it: no copy. Variables are no inputs or outputs.
// CHECK: plan.func @in_place inputs [#plan.binding<{{[^>]*>[^>]*}}>] outputs []
// CHECK: %[[X:.*]] = plan.input 0 size 16
// CHECK: %[[STATE:.*]] = plan.state @[[W]] size 16
// CHECK: plan.launch @{{.*}}(%[[STATE]], %[[X]]) -> (%[[STATE]])
// CHECK-NOT: plan.copy
// CHECK: plan.func @read_later
func.func @in_place(%x: tensor<4xf32>) {
  %old = gantry.read @w : tensor<4xf32>
  %new = gantry.sub %old, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  gantry.assign @w, %new : tensor<4xf32>
  return
}

// The old value is an output: it is safe before the variable gets its next one.
// CHECK-DAG: %[[STATE:.*]] = plan.state @[[W]] size 16
// CHECK-DAG: %[[Y:.*]] = plan.output 0 size 16
// CHECK-DAG: %[[NEXT:.*]] = plan.buffer size 16
// CHECK: plan.launch @{{.*}}(%[[STATE]], %{{.*}}) -> (%[[NEXT]])
// CHECK: plan.copy %[[STATE]] to %[[Y]]
// CHECK: plan.copy %[[NEXT]] to %[[STATE]]
func.func @read_later(%x: tensor<4xf32>) -> tensor<4xf32> {
  %old = gantry.read @w : tensor<4xf32>
  gantry.assign_add @w, %x : tensor<4xf32>
  return %old : tensor<4xf32>
}

// The kernel that reads the old value in another order writes elsewhere; what is then stored is not
// read any more.
// CHECK: plan.func @reversed
// CHECK-DAG: %[[OLD:.*]] = plan.state @[[W]] size 16
// CHECK-DAG: %[[NEXT:.*]] = plan.buffer size 16
// CHECK: plan.launch @{{.*}}(%[[OLD]]) -> (%[[NEXT]])
// CHECK: plan.launch @{{.*}}(%[[NEXT]]) -> (%[[OLD]])
func.func @reversed() {
  %w = gantry.read @w : tensor<4xf32>
  %r = gantry.slice %w {starts = array<i64: 3>, sizes = array<i64: 4>, steps = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  gantry.assign @w, %r : tensor<4xf32>
  return
}

// Both old values are read after the first assignment: one new value waits until then.
// CHECK: plan.func @swap
// CHECK-DAG: %[[SW:.*]] = plan.state @[[W]] size 16
// CHECK-DAG: %[[SV:.*]] = plan.state @[[V]] size 16
// CHECK-DAG: %[[SAFE:.*]] = plan.buffer size 16
// CHECK: plan.launch @{{.*}}(%[[SV]]) -> (%[[SAFE]])
// CHECK: plan.launch @{{.*}}(%[[SW]]) -> (%[[SV]])
// CHECK: plan.copy %[[SAFE]] to %[[SW]]
func.func @swap() {
  %w = gantry.read @w : tensor<4xf32>
  %v = gantry.read @v : tensor<4xf32>
  gantry.assign @w, %v : tensor<4xf32>
  gantry.assign @v, %w : tensor<4xf32>
  return
}
