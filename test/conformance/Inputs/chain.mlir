// From device to device and back, so that the memory of earlier values is used again: the copy that
// reads a value must be over before the next value is written there.
!t = tensor<64x64xf32>
func.func @main(%x: !t) -> !t {
  %0 = gantry.copy %x to "GPU:0" : !t
  %1 = gantry.relu %0 {gantry.name = "relu", gantry.device = #gantry.device<"GPU:0">} : (!t) -> !t
  %2 = gantry.copy %1 to "GPU:1" : !t
  %3 = gantry.softmax %2 {axis = 1 : i64, gantry.name = "softmax", gantry.device = #gantry.device<"GPU:1">} : (!t) -> !t
  %4 = gantry.copy %3 to "GPU:0" : !t
  %5 = gantry.matmul %4, %4 {gantry.name = "square", gantry.device = #gantry.device<"GPU:0">} : (!t, !t) -> !t
  %6 = gantry.copy %5 to "GPU:1" : !t
  %7 = gantry.exp %6 {gantry.name = "exp", gantry.device = #gantry.device<"GPU:1">} : (!t) -> !t
  %8 = gantry.copy %7 to "GPU:0" : !t
  %9 = gantry.softmax %8 {axis = 0 : i64, gantry.name = "again", gantry.device = #gantry.device<"GPU:0">} : (!t) -> !t
  %10 = gantry.copy %9 to "CPU:0" : !t
  return %10 : !t
}
