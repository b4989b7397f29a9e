// An upload beside a product of what was computed on the device. Its place in the order must delay
// nothing, nor must memory that is free again when the upload is due.
!t = tensor<512x512xf32>
func.func @main(%x: !t, %row: tensor<512xf32>, %column: tensor<512x1xf32>) -> (!t, !t) {
  %r = gantry.copy %row to "GPU:0" : tensor<512xf32>
  %c = gantry.copy %column to "GPU:0" : tensor<512x1xf32>
  %v = gantry.add %r, %c {gantry.name = "v", gantry.device = #gantry.device<"GPU:0">} : (tensor<512xf32>, tensor<512x1xf32>) -> !t
  %p = gantry.matmul %v, %v {gantry.name = "product", gantry.device = #gantry.device<"GPU:0">} : (!t, !t) -> !t
  %xg = gantry.copy %x to "GPU:0" {gantry.name = "upload"} : !t
  %y = gantry.softmax %xg {axis = 1 : i64, gantry.name = "y", gantry.device = #gantry.device<"GPU:0">} : (!t) -> !t
  %ph = gantry.copy %p to "CPU:0" : !t
  %yh = gantry.copy %y to "CPU:0" : !t
  return %ph, %yh : !t, !t
}
