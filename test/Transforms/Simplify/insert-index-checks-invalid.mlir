// What has become constant by now is judged here.
// RUN: gantry-opt %s --verify-diagnostics --gantry-insert-index-checks

func.func @constant(%x: tensor<9x4xf32>, %c: tensor<i1>) -> tensor<2x4xf32> {
  %i = gantry.constant dense<[0, 9]> : tensor<2xi64>
  %r = gantry.if %c -> (tensor<2x4xf32>) {
    // expected-error @below {{'emb' (GatherV2) reads index 9 at [1] of operand 'constant', which must be in [-9, 9)}}
    %y = gantry.gather %x, %i {axis = 0 : i64, gantry.name = "emb"} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    gantry.yield %y : tensor<2x4xf32>
  } else {
    %y = gantry.constant dense<0.0> : tensor<2x4xf32>
    gantry.yield %y : tensor<2x4xf32>
  } : tensor<i1>
  return %r : tensor<2x4xf32>
}

// With checks also an index of one hot that marks nothing.
func.func @one_hot(%off: tensor<f32>, %on: tensor<f32>) -> tensor<1x10xf32> {
  %i = gantry.constant dense<[10]> : tensor<1xi64>
  // expected-error @below {{'hot' (OneHot) reads index 10 at [0] of operand 'constant', which must be in [-10, 10)}}
  %y = gantry.one_hot %i, %off, %on {axis = 1 : i64, depth = 10 : i64, gantry.name = "hot"} : (tensor<1xi64>, tensor<f32>, tensor<f32>) -> tensor<1x10xf32>
  return %y : tensor<1x10xf32>
}
