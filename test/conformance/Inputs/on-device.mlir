// Inputs and outputs on a GPU: nothing is copied to the host or from there.
func.func @main(%x: tensor<64xf32> {gantry.device = #gantry.device<"GPU:0">})
    -> (tensor<64xf32> {gantry.device = #gantry.device<"GPU:0">}) {
  %0 = gantry.add %x, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = gantry.relu %0 : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
