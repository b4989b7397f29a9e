// Kernels of several work items, each with a window of the buffers: they update a variable in place
// where they read each element right before they write it.
// RUN: gantry compile %s --stop-after=schedule -o - | FileCheck %s --enable-var-scope
// RUN: gantry run %s --function add --fill ramp --repeat 2 --save-state %t.npz
// RUN: %python -c "import numpy, sys; w = numpy.load(sys.argv[1])['w']; assert (w == 1 + 2 * numpy.arange(w.size, dtype=w.dtype)).all(), w" %t.npz
gantry.variable @w = dense<1.0> : tensor<262144xf32>
gantry.variable @m = dense<1.0> : tensor<512x1024xf32>

// CHECK: plan.kernel @[[ADD:.*add.*]] items 4
// CHECK: plan.func @add
// CHECK: %[[X:.*]] = plan.input 0
// CHECK: %[[W:.*]] = plan.state
// CHECK: plan.launch @{{.*}}(%[[W]], %[[X]]) -> (%[[W]]) items 4
// CHECK-NOT: plan.copy
func.func @add(%x: tensor<262144xf32>) {
  gantry.assign_add @w, %x : tensor<262144xf32>
  return
}

// What a work item reads, another one writes.
// CHECK: plan.func @reversed
// CHECK: %[[OLD:.*]] = plan.state
// CHECK: %[[NEXT:.*]] = plan.buffer
// CHECK: plan.launch @{{.*}}(%[[OLD]]) -> (%[[NEXT]])
func.func @reversed() {
  %w = gantry.read @w : tensor<262144xf32>
  %r = gantry.slice %w {starts = array<i64: 262143>, sizes = array<i64: 262144>, steps = array<i64: -1>} : (tensor<262144xf32>) -> tensor<262144xf32>
  %n = gantry.neg %r : (tensor<262144xf32>) -> tensor<262144xf32>
  gantry.assign @w, %n : tensor<262144xf32>
  return
}

// A row is read to its end before its elements are divided, by the work item that writes it.
// CHECK: plan.func @softmax
// CHECK: %[[ROWS:.*]] = plan.state
// CHECK: plan.launch @{{.*}}(%[[ROWS]]) -> (%[[ROWS]]) items 128
// CHECK-NOT: plan.copy
func.func @softmax() {
  %m = gantry.read @m : tensor<512x1024xf32>
  %s = gantry.softmax %m {axis = 1 : i64} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  gantry.assign @m, %s : tensor<512x1024xf32>
  return
}

// What a value of the run ends in: row by row, element by element, behind a product. The operand of
// the softmax is read again, the sum is not.
// CHECK: plan.func @chain
// CHECK: %[[A:.*]] = plan.buffer size 2097152 on @d0 "a"
// CHECK: plan.launch @{{.*}}(%{{.*}}) -> (%[[A]]){{.*}}"a"
// CHECK: %[[S:.*]] = plan.buffer size 2097152 on @d0 "s"
// CHECK: plan.launch @{{.*}}(%[[A]]) -> (%[[S]]){{.*}}"s"
// CHECK: plan.launch @{{.*}}(%[[S]]) -> (%[[S]]){{.*}}"t"
// CHECK: plan.launch @{{.*}}(%[[S]], %{{.*}}, %[[A]]) -> (%[[A]]){{.*}}"p"
// CHECK: plan.launch @{{.*}}(%[[A]]) -> (%[[A]]){{.*}}"u"
func.func @chain(%x: tensor<512x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<512xf32> {
  %a = gantry.cumsum %x {axis = 1 : i64, gantry.name = "a"} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %s = gantry.softmax %a {axis = 1 : i64, gantry.name = "s"} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %t = gantry.softmax %s {axis = 1 : i64, gantry.name = "t"} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %m = gantry.matmul %t, %w : (tensor<512x1024xf32>, tensor<1024x1024xf32>) -> tensor<512x1024xf32>
  %p = gantry.add %m, %a {gantry.name = "p"} : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %u = gantry.softmax %p {axis = 1 : i64, gantry.name = "u"} : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %r = gantry.reduce_sum %u {axes = array<i64: 1>} : (tensor<512x1024xf32>) -> tensor<512xf32>
  return %r : tensor<512xf32>
}
