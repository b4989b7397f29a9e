// RUN: gantry-opt %s --split-input-file --verify-diagnostics --gantry-check-constant-indices

// Below the first.
func.func @below(%x: tensor<9x4xf32>) -> tensor<2x4xf32> {
  %i = gantry.constant dense<[0, -10]> : tensor<2xi64>
  // expected-error @below {{'gantry.gather' op reads index -10 at [1] of operand 'constant', which must be in [-9, 9)}}
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// By its own names, and those of the constant.
func.func @named(%x: tensor<9x4xf32>) -> tensor<2x1x4xf32> {
  %i = gantry.constant {gantry.name = "ids"} dense<[[0], [9]]> : tensor<2x1xi32>
  // expected-error @below {{'emb' (Gather) reads index 9 at [1, 0] of operand 'ids', which must be in [-9, 9)}}
  %y = gantry.gather %x, %i {axis = 0 : i64, gantry.name = "emb", gantry.source_op = "Gather"} : (tensor<9x4xf32>, tensor<2x1xi32>) -> tensor<2x1x4xf32>
  return %y : tensor<2x1x4xf32>
}

// -----

// What constants decide is as good as a constant.
func.func @computed(%x: tensor<9xf32>) -> tensor<f32> {
  %a = gantry.constant dense<8> : tensor<i64>
  %b = gantry.constant dense<1> : tensor<i64>
  %i = gantry.add %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i64>
  // expected-error @below {{'gantry.gather' op reads index 9 of operand 'add', which must be in [-9, 9)}}
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// Each component of a tuple has its own size.
func.func @tuples(%x: tensor<4x5x6xf32>) -> tensor<2x6xf32> {
  %i = gantry.constant dense<[[3, 4], [4, 3]]> : tensor<2x2xi64>
  // expected-error @below {{'gantry.gather_nd' op reads index 4 at [1, 0] of operand 'constant', which must be in [-4, 4)}}
  %y = gantry.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<4x5x6xf32>, tensor<2x2xi64>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

// Dimensions that are shared are not addressed.
func.func @batch(%x: tensor<2x5xf32>) -> tensor<2xf32> {
  %i = gantry.constant dense<[[4], [-6]]> : tensor<2x1xi64>
  // expected-error @below {{'gantry.gather_nd' op reads index -6 at [1, 0] of operand 'constant', which must be in [-5, 5)}}
  %y = gantry.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x5xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// In the branch that constants take, and in a loop that begins.
func.func @taken(%x: tensor<9xf32>) -> tensor<f32> {
  %c = gantry.constant dense<true> : tensor<i1>
  %i = gantry.constant dense<9> : tensor<i64>
  %r = gantry.if %c -> (tensor<f32>) {
    // expected-error @below {{'gantry.gather' op reads index 9 of operand 'constant', which must be in [-9, 9)}}
    %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
    gantry.yield %y : tensor<f32>
  } else {
    %y = gantry.constant dense<0.0> : tensor<f32>
    gantry.yield %y : tensor<f32>
  } : tensor<i1>
  return %r : tensor<f32>
}

// -----

func.func @begins(%x: tensor<9xf32>, %n: tensor<i64>) -> tensor<f32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %nine = gantry.constant dense<9> : tensor<i64>
  %start = gantry.constant dense<0.0> : tensor<f32>
  %r:2 = gantry.while (%zero, %start) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>):
    %m = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %m : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>):
    // expected-error @below {{'gantry.gather' op reads index 9 of operand 'constant', which must be in [-9, 9)}}
    %y = gantry.gather %x, %nine {axis = 0 : i64} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
    %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %next, %y : tensor<i64>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}
