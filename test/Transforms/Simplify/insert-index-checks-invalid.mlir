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
