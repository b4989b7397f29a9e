// Constant indices that are in range, or that nobody knows yet, pass.
// RUN: gantry-opt %s --gantry-check-constant-indices | FileCheck %s

// Negative ones count from the end.
// CHECK-LABEL: @in_range
func.func @in_range(%x: tensor<9x4xf32>) -> tensor<2x4xf32> {
  %i = gantry.constant dense<[-9, 8]> : tensor<2xi64>
  // CHECK: gantry.gather
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// CHECK-LABEL: @unknown
func.func @unknown(%x: tensor<9x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // CHECK: gantry.gather
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// Without an index nothing is read, also of nothing.
// CHECK-LABEL: @none
func.func @none(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %i = gantry.constant dense<> : tensor<0xi64>
  // CHECK: gantry.gather
  %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<0x4xf32>, tensor<0xi64>) -> tensor<0x4xf32>
  return %y : tensor<0x4xf32>
}

// Of one hot an index outside marks nothing, as in ONNX.
// CHECK-LABEL: @one_hot
func.func @one_hot(%off: tensor<f32>, %on: tensor<f32>) -> tensor<1x10xf32> {
  %i = gantry.constant dense<[10]> : tensor<1xi64>
  // CHECK: gantry.one_hot
  %y = gantry.one_hot %i, %off, %on {axis = 1 : i64, depth = 10 : i64} : (tensor<1xi64>, tensor<f32>, tensor<f32>) -> tensor<1x10xf32>
  return %y : tensor<1x10xf32>
}

// A branch that constants rule out may hold anything; what it has inside, too.
// CHECK-LABEL: @ruled_out
func.func @ruled_out(%x: tensor<9xf32>, %d: tensor<i1>) -> tensor<f32> {
  %three = gantry.constant dense<3> : tensor<i64>
  %four = gantry.constant dense<4> : tensor<i64>
  %c = gantry.compare lt, %four, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %i = gantry.constant dense<9> : tensor<i64>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %r = gantry.if %c -> (tensor<f32>) {
    %s = gantry.if %d -> (tensor<f32>) {
      // CHECK: gantry.gather
      %y = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
      gantry.yield %y : tensor<f32>
    } else {
      gantry.yield %zero : tensor<f32>
    } : tensor<i1>
    gantry.yield %s : tensor<f32>
  } else {
    gantry.yield %zero : tensor<f32>
  } : tensor<i1>
  return %r : tensor<f32>
}

// And the body of a loop that never begins.
// CHECK-LABEL: @never_begins
func.func @never_begins(%x: tensor<9xf32>, %n: tensor<i64>) -> tensor<f32> {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %nine = gantry.constant dense<9> : tensor<i64>
  %start = gantry.constant dense<0.0> : tensor<f32>
  %r:2 = gantry.while (%nine, %start) : (tensor<i64>, tensor<f32>) -> (tensor<i64>, tensor<f32>) {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>):
    %m = gantry.compare lt, %i, %nine : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %m : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>):
    // CHECK: gantry.gather
    %y = gantry.gather %x, %nine {axis = 0 : i64} : (tensor<9xf32>, tensor<i64>) -> tensor<f32>
    %next = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %next, %y : tensor<i64>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}
