func.func @main(%x: tensor<4xf32> {gantry.name = "x"}) -> (tensor<4xf32> {gantry.name = "y"}) {
  %n = gantry.constant dense<3> : tensor<i64>
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %r:2 = gantry.while (%zero, %x) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %0 = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %0 : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %1 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = gantry.add %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1, %2 : tensor<i64>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
