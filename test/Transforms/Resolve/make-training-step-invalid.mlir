// RUN: gantry-opt %s --split-input-file --verify-diagnostics --gantry-make-training-step="loss=loss optimizer=sgd,rate=0.1 trainable=w,x*"

// expected-error @below {{--train: the graph has no output 'loss'; did you mean 'los'?; its outputs are 'los', and losses that compare it with labels are bce, cce, huber, mae, mse, scce}}
func.func @misspelt() -> (tensor<f32> {gantry.name = "los"}) {
  %w = gantry.constant {gantry.name = "w"} dense<1.0> : tensor<f32>
  return %w : tensor<f32>
}

// -----

// expected-error @below {{--train: output 'loss' is 'tensor<4xf32>'; a loss is a scalar of floats, as the mean of it would be}}
func.func @rows(%x: tensor<4xf32>) -> (tensor<4xf32> {gantry.name = "loss"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{--trainable w matches no constant of floats that has a name; these are 'v'}}
func.func @pattern(%x: tensor<4xf32>) -> (tensor<f32> {gantry.name = "loss"}) {
  %v = gantry.constant {gantry.name = "v"} dense<1.0> : tensor<4xf32>
  %0 = gantry.mul %x, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.reduce_mean %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// expected-error @below {{--trainable: the loss does not depend on 'w', 'x1' by floats}}
func.func @no_way(%x: tensor<4xf32>) -> (tensor<f32> {gantry.name = "loss"}) {
  %w = gantry.constant {gantry.name = "w"} dense<1.0> : tensor<4xf32>
  %x1 = gantry.constant {gantry.name = "x1"} dense<1.0> : tensor<4xf32>
  %0 = gantry.floor %w : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.reduce_mean %1 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

func.func @two_values(%x: tensor<4xf32>) -> (tensor<f32> {gantry.name = "loss"}) {
  // expected-note @below {{the other one}}
  %w = gantry.constant {gantry.name = "w"} dense<1.0> : tensor<4xf32>
  // expected-error @below {{--train: two constants are called "w" and have other values; a variable has one}}
  %v = gantry.constant {gantry.name = "w"} dense<2.0> : tensor<4xf32>
  %0 = gantry.mul %v, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.reduce_mean %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

gantry.variable @w = dense<1.0> : tensor<4xf32>
// expected-remark @below {{trains 2 of 2 named constants of floats, 32 bytes: 'w', 'x1'}}
func.func @taken(%x: tensor<4xf32>) -> (tensor<f32> {gantry.name = "loss"}) {
  // expected-error @below {{--train: the variable "w" would have the name of something else in the graph}}
  %w = gantry.constant {gantry.name = "w"} dense<1.0> : tensor<4xf32>
  %x1 = gantry.constant {gantry.name = "x1"} dense<1.0> : tensor<4xf32>
  %0 = gantry.mul %x1, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.reduce_mean %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// expected-error @below {{--train is about one function; choose it with --entry: one, other}}
module {
  func.func @one() { return }
  func.func @other() { return }
}
