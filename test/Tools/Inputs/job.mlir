// Rows of x on four tasks, each with a sum that the first of them adds to the others'.
func.func @main(%x: tensor<8x1024xf32> {gantry.name = "x"}) -> (tensor<f32> {gantry.name = "y"}) {
  %y = gantry.replicate (%x) on ["/job:worker/task:{0..3}/CPU:0"] takes [split 0] gives [sum]
      : (tensor<8x1024xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<?x1024xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0, 1>} : (tensor<?x1024xf32>) -> tensor<f32>
    gantry.yield %s : tensor<f32>
  }
  return %y : tensor<f32>
}
