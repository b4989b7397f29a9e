// An upload beside a product of what was computed on the device. Its place in the order must delay
// nothing, nor must memory that is free again when the upload is due.
!t = tensor<512x512xf32>
func.func @main(%x: !t, %row: tensor<512xf32>, %column: tensor<512x1xf32>) -> (!t, !t) {
  %v = gantry.add %row, %column {gantry.name = "v", gantry.device = #gantry.device<"GPU:0">} : (tensor<512xf32>, tensor<512x1xf32>) -> !t
  %p = gantry.matmul %v, %v {gantry.name = "product", gantry.device = #gantry.device<"GPU:0">} : (!t, !t) -> !t
  %y = gantry.softmax %x {axis = 1 : i64, gantry.name = "y", gantry.device = #gantry.device<"GPU:0">} : (!t) -> !t
  return %p, %y : !t, !t
}
