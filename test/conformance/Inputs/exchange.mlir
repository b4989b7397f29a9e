// Two GPUs give each other what they have, again and again, both ways at once.
!t = tensor<16x16xf32>
#g0 = #gantry.device<"GPU:0">
#g1 = #gantry.device<"GPU:1">
func.func @main(%x: !t, %y: !t) -> !t {
  %a0 = gantry.copy %x to "GPU:0" : !t
  %b1 = gantry.copy %y to "GPU:1" : !t
  %a = gantry.matmul %a0, %a0 {gantry.name = "a", gantry.device = #g0} : (!t, !t) -> !t
  %b = gantry.matmul %b1, %b1 {gantry.name = "b", gantry.device = #g1} : (!t, !t) -> !t
  %a1 = gantry.copy %a to "GPU:1" : !t
  %b0 = gantry.copy %b to "GPU:0" : !t
  %c = gantry.matmul %b0, %a {gantry.name = "c", gantry.device = #g0} : (!t, !t) -> !t
  %d = gantry.matmul %a1, %b {gantry.name = "d", gantry.device = #g1} : (!t, !t) -> !t
  %c1 = gantry.copy %c to "GPU:1" : !t
  %d0 = gantry.copy %d to "GPU:0" : !t
  %e = gantry.softmax %d0 {axis = 1 : i64, gantry.name = "e", gantry.device = #g0} : (!t) -> !t
  %f = gantry.softmax %c1 {axis = 1 : i64, gantry.name = "f", gantry.device = #g1} : (!t) -> !t
  %f0 = gantry.copy %f to "GPU:0" : !t
  %g = gantry.matmul %e, %f0 {gantry.name = "g", gantry.device = #g0} : (!t, !t) -> !t
  %gh = gantry.copy %g to "CPU:0" : !t
  return %gh : !t
}
