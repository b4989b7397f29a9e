// RUN: gantry-opt %s --split-input-file --gantry-make-training-step="loss=loss optimizer=adamw,rate=1e-3,beta1=0.8" | FileCheck %s

// Named constants of floats that the loss depends on become variables; a scalar stays, and so does what has no name.
// CHECK-DAG: gantry.variable @w = dense<5.000000e-01> : tensor<3x2xf32>
// CHECK-DAG: gantry.variable @b {gantry.device = #gantry.device<"GPU:0">} = dense<0.000000e+00> : tensor<2xf32>
// CHECK-DAG: gantry.variable @"adamw/step" = dense<0> : tensor<i64>
// CHECK-NOT: gantry.variable

// The graph is what evaluates.
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: {gantry.name = "x"}) -> (tensor<4x2xf32> {gantry.name = "y"}, tensor<f32> {gantry.name = "loss"})
// CHECK-DAG: %[[W:.*]] = gantry.read @w
// CHECK-DAG: %[[SCALE:.*]] = gantry.constant {gantry.name = "scale"}
// CHECK: gantry.matmul %{{.*}}, %[[W]]
// CHECK: return %{{.*}}, %{{.*}} : tensor<4x2xf32>, tensor<f32>

// A step counts itself, differentiates the loss and gives the variables their next values.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32> {gantry.name = "x"}) -> (tensor<f32> {gantry.name = "loss"})
// CHECK-DAG: %[[W:.*]] = gantry.read @w
// CHECK-DAG: %[[B:.*]] = gantry.read @b
// CHECK: gantry.assign_add @"adamw/step"
// CHECK: %[[T:.*]] = gantry.read @"adamw/step"
// CHECK: %[[G:.*]]:3 = gantry.gradient(%[[W]], %[[B]])
// CHECK: ^bb0(%[[W1:.*]]: tensor<3x2xf32>, %[[B1:.*]]: tensor<2xf32>):
// CHECK: gantry.matmul %[[X]], %[[W1]]
// CHECK: %[[L:.*]] = gantry.reduce_mean
// CHECK: gantry.yield %[[L]] : tensor<f32>
// CHECK: %[[RATE:.*]] = gantry.constant dense<1.000000e-03> : tensor<f64>
// CHECK: gantry.optimizer_step "adam" @w, %[[G]]#1, %[[RATE]], %[[T]] {numbers = {beta1 = 8.000000e-01 : f64, decay = 1.000000e-02 : f64}, slots = "adamw"}
// CHECK: gantry.optimizer_step "adam" @b, %[[G]]#2
// CHECK: return %[[G]]#0 : tensor<f32>
func.func @main(%x: tensor<4x3xf32> {gantry.name = "x"})
    -> (tensor<4x2xf32> {gantry.name = "y"}, tensor<f32> {gantry.name = "loss"}) {
  %scale = gantry.constant {gantry.name = "scale"} dense<3.0> : tensor<f32>
  %own = gantry.constant dense<1.5> : tensor<2xf32>
  %unread = gantry.constant {gantry.name = "unread"} dense<1.5> : tensor<2xf32>
  %w = gantry.constant {gantry.name = "w"} dense<0.5> : tensor<3x2xf32>
  %0 = gantry.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %b = gantry.constant {gantry.name = "b", gantry.device = #gantry.device<"GPU:0">} dense<0.0> : tensor<2xf32>
  %1 = gantry.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = gantry.mul %1, %scale : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  %3 = gantry.mul %2, %own : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %4 = gantry.reduce_mean %3 {axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  return %3, %4 : tensor<4x2xf32>, tensor<f32>
}

// -----

// Two constants of one name and value are one variable. Statistics of a batch norm stay. A loss of one element is a scalar.
// CHECK-COUNT-3: gantry.variable
// CHECK-NOT: gantry.variable
// CHECK-LABEL: func.func @step(
// CHECK-COUNT-2: gantry.read @{{s|o}} :
// CHECK: gantry.gradient(%{{.*}}, %{{.*}}) : (tensor<3xf32>, tensor<3xf32>)
// CHECK: gantry.reshape %{{.*}} : (tensor<1xf32>) -> tensor<f32>
func.func @norm(%x: tensor<2x3xf32>) -> (tensor<1xf32> {gantry.name = "loss"}) {
  %s = gantry.constant {gantry.name = "s"} dense<1.0> : tensor<3xf32>
  %o = gantry.constant {gantry.name = "o"} dense<0.0> : tensor<3xf32>
  %m = gantry.constant {gantry.name = "m"} dense<0.5> : tensor<3xf32>
  %v = gantry.constant {gantry.name = "v"} dense<2.0> : tensor<3xf32>
  %0 = gantry.batch_norm %x, %s, %o, %m, %v {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %t = gantry.constant {gantry.name = "s"} dense<1.0> : tensor<3xf32>
  %1 = gantry.mul %0, %t : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = gantry.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  %3 = gantry.reshape %2 : (tensor<f32>) -> tensor<1xf32>
  return %3 : tensor<1xf32>
}

// -----

// Each step draws anew, each draw from a stream of its own; what evaluates stays as it is.
// CHECK-LABEL: func.func @evaluate(
// CHECK-COUNT-2: gantry.random_uniform {high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, seed = 7 : i64}
// CHECK-LABEL: func.func @step(
// CHECK: %[[T:.*]] = gantry.read @"adamw/step"
// CHECK-DAG: %[[K0:.*]] = gantry.add %[[T]], %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK: gantry.gradient
// CHECK: gantry.random_uniform %{{.*}} {high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, stream = 0 : i64} : (tensor<i64>)
// CHECK: gantry.random_uniform %{{.*}} {high = 1.000000e+00 : f64, low = 0.000000e+00 : f64, stream = 1 : i64} : (tensor<i64>)
func.func @draws() -> (tensor<f32> {gantry.name = "loss"}) {
  %w = gantry.constant {gantry.name = "w"} dense<1.0> : tensor<8xf32>
  %0 = gantry.random_uniform {low = 0.0 : f64, high = 1.0 : f64, seed = 7 : i64} : () -> tensor<8xf32>
  %1 = gantry.random_uniform {low = 0.0 : f64, high = 1.0 : f64, seed = 7 : i64} : () -> tensor<8xf32>
  %2 = gantry.mul %w, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = gantry.mul %2, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = gantry.reduce_mean %3 {axes = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}
