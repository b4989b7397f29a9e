// Values that are needed for a moment only, so that memory of both GPUs is used again and again: what is
// copied out must have left before the next value is written there.
!t = tensor<16x16xf32>
#g0 = #gantry.device<"GPU:0">
#g1 = #gantry.device<"GPU:1">
func.func @main(%x: !t) -> !t {
  %x0 = gantry.copy %x to "GPU:0" : !t
  %a = gantry.softmax %x0 {axis = 1 : i64, gantry.name = "a", gantry.device = #g0} : (!t) -> !t
  %a1 = gantry.copy %a to "GPU:1" : !t
  %b = gantry.softmax %a {axis = 0 : i64, gantry.name = "b", gantry.device = #g0} : (!t) -> !t
  %b1 = gantry.copy %b to "GPU:1" : !t
  %c = gantry.softmax %b {axis = 1 : i64, gantry.name = "c", gantry.device = #g0} : (!t) -> !t
  %c1 = gantry.copy %c to "GPU:1" : !t
  %p = gantry.matmul %a1, %b1 {gantry.name = "p", gantry.device = #g1} : (!t, !t) -> !t
  %q = gantry.matmul %p, %c1 {gantry.name = "q", gantry.device = #g1} : (!t, !t) -> !t
  %q0 = gantry.copy %q to "GPU:0" : !t
  %d = gantry.matmul %q0, %c {gantry.name = "d", gantry.device = #g0} : (!t, !t) -> !t
  %dh = gantry.copy %d to "CPU:0" : !t
  return %dh : !t
}
