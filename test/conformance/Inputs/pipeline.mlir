// Two values through three GPUs, one behind the other, joined on the last.
!t = tensor<16x16xf32>
#g0 = #gantry.device<"GPU:0">
#g1 = #gantry.device<"GPU:1">
#g2 = #gantry.device<"GPU:2">
func.func @main(%x: !t, %y: !t) -> !t {
  %x0 = gantry.copy %x to "GPU:0" : !t
  %y0 = gantry.copy %y to "GPU:0" : !t
  %a = gantry.matmul %x0, %x0 {gantry.name = "a", gantry.device = #g0} : (!t, !t) -> !t
  %b = gantry.matmul %y0, %x0 {gantry.name = "b", gantry.device = #g0} : (!t, !t) -> !t
  %a1 = gantry.copy %a to "GPU:1" : !t
  %b1 = gantry.copy %b to "GPU:1" : !t
  %c = gantry.softmax %a1 {axis = 1 : i64, gantry.name = "c", gantry.device = #g1} : (!t) -> !t
  %d = gantry.softmax %b1 {axis = 0 : i64, gantry.name = "d", gantry.device = #g1} : (!t) -> !t
  %c2 = gantry.copy %c to "GPU:2" : !t
  %d2 = gantry.copy %d to "GPU:2" : !t
  %e = gantry.matmul %c2, %d2 {gantry.name = "e", gantry.device = #g2} : (!t, !t) -> !t
  %eh = gantry.copy %e to "CPU:0" : !t
  return %eh : !t
}
