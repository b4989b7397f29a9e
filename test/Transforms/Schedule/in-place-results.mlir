// A kernel with several results writes each in the place of what it replaces.
// RUN: gantry compile %s --stop-after=schedule -o - | FileCheck %s --enable-var-scope
// RUN: gantry run %s --function step --fill ones --repeat 2 --save-state %t.npz
// RUN: %python -c "import numpy, sys; s = numpy.load(sys.argv[1]); assert (s['m'] == 3).all() and (s['v'] == 5).all() and (s['w'] == -5.5).all(), s['w']" %t.npz
// RUN: gantry run %s --function swap --fill ones --repeat 3 --save-state %t.npz
// RUN: %python -c "import numpy, sys; s = numpy.load(sys.argv[1]); assert (s['m'] == 4).all() and (s['v'] == 4).all(), s" %t.npz
gantry.variable @m = dense<1.0> : tensor<262144xf32>
gantry.variable @v = dense<1.0> : tensor<262144xf32>
gantry.variable @w = dense<1.0> : tensor<262144xf32>

// Three variables, no memory of the run's own, work items side by side.
// CHECK: plan.func @step
// CHECK-DAG: %[[M:.*]] = plan.state @v0
// CHECK-DAG: %[[V:.*]] = plan.state @v1
// CHECK-DAG: %[[W:.*]] = plan.state @v2
// CHECK-NOT: plan.buffer
// CHECK: plan.launch @{{.*}}(%{{.*}}) -> (%[[M]], %[[V]], %[[W]]) items {{[0-9][0-9]*}}
// CHECK-NOT: plan.copy
// CHECK-NOT: plan.launch
func.func @step(%g: tensor<262144xf32>) {
  %two = gantry.constant dense<2.0> : tensor<f32>
  %m = gantry.read @m : tensor<262144xf32>
  %v = gantry.read @v : tensor<262144xf32>
  %w = gantry.read @w : tensor<262144xf32>
  %m1 = gantry.add %m, %g : (tensor<262144xf32>, tensor<262144xf32>) -> tensor<262144xf32>
  %g2 = gantry.mul %g, %two : (tensor<262144xf32>, tensor<f32>) -> tensor<262144xf32>
  %v1 = gantry.add %v, %g2 : (tensor<262144xf32>, tensor<262144xf32>) -> tensor<262144xf32>
  %s = gantry.mul %m1, %v1 : (tensor<262144xf32>, tensor<262144xf32>) -> tensor<262144xf32>
  %h = gantry.div %s, %two : (tensor<262144xf32>, tensor<f32>) -> tensor<262144xf32>
  %d = gantry.sub %h, %g2 : (tensor<262144xf32>, tensor<262144xf32>) -> tensor<262144xf32>
  %w1 = gantry.sub %w, %d : (tensor<262144xf32>, tensor<262144xf32>) -> tensor<262144xf32>
  gantry.assign @m, %m1 : tensor<262144xf32>
  gantry.assign @v, %v1 : tensor<262144xf32>
  gantry.assign @w, %w1 : tensor<262144xf32>
  return
}

// Each variable becomes what is made of the other: as elements are read before any is written, both stay where they are.
// CHECK: plan.func @swap
// CHECK-DAG: %[[P:.*]] = plan.state @v0
// CHECK-DAG: %[[Q:.*]] = plan.state @v1
// CHECK: plan.launch @{{.*}}(%{{.*}}) -> (%[[P]], %[[Q]])
// CHECK-NOT: plan.copy
// CHECK: plan.func @reuse
func.func @swap(%g: tensor<262144xf32>) {
  %m = gantry.read @m : tensor<262144xf32>
  %v = gantry.read @v : tensor<262144xf32>
  %m1 = gantry.add %v, %g : (tensor<262144xf32>, tensor<262144xf32>) -> tensor<262144xf32>
  %v1 = gantry.add %m, %g : (tensor<262144xf32>, tensor<262144xf32>) -> tensor<262144xf32>
  gantry.assign @m, %m1 : tensor<262144xf32>
  gantry.assign @v, %v1 : tensor<262144xf32>
  return
}

// Two operands that end there, two results.
// CHECK-DAG: %[[A:.*]] = plan.buffer size 1048576 on @d0 "a"
// CHECK-DAG: %[[B:.*]] = plan.buffer size 1048576 on @d0 "b"
// CHECK: plan.launch @{{.*}}(%[[A]], %[[B]]) -> (%[[A]], %[[B]])
// CHECK: plan.launch @{{.*}}(%[[A]])
func.func @reuse(%x: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %a = gantry.cumsum %x {axis = 1 : i64, gantry.name = "a"} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %b = gantry.cumsum %x {axis = 0 : i64, gantry.name = "b"} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %s = gantry.add %a, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = gantry.mul %a, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t = gantry.reduce_max %s {axes = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512xf32>
  %u = gantry.reduce_max %p {axes = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512xf32>
  return %t, %u : tensor<512xf32>, tensor<512xf32>
}
