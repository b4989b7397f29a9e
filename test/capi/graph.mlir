// x @ w, its positive part, twice.
func.func @main(%x: tensor<2x3xf32> {gantry.name = "x"}) -> (tensor<2x2xf32> {gantry.name = "z"}) {
  %w = gantry.constant dense<[[1.0, -1.0], [0.0, 2.0], [-1.0, 1.0]]> : tensor<3x2xf32>
  %0 = gantry.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = gantry.relu %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = gantry.add %1, %1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
