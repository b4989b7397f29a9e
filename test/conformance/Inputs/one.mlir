// One GPU and the host in turns, with memory of the GPU that is used again while copies are on their way.
!t = tensor<16x16xf32>
#gpu = #gantry.device<"GPU:0">
#cpu = #gantry.device<"CPU:0">
func.func @main(%x: !t, %y: !t) -> !t {
  %x0 = gantry.copy %x to "GPU:0" : !t
  %a = gantry.matmul %x0, %x0 {gantry.name = "a", gantry.device = #gpu} : (!t, !t) -> !t
  %ah = gantry.copy %a to "CPU:0" : !t
  %b = gantry.add %ah, %y {gantry.name = "b", gantry.device = #cpu} : (!t, !t) -> !t
  %b0 = gantry.copy %b to "GPU:0" : !t
  %y0 = gantry.copy %y to "GPU:0" : !t
  %c = gantry.matmul %b0, %y0 {gantry.name = "c", gantry.device = #gpu} : (!t, !t) -> !t
  %d = gantry.softmax %c {axis = 1 : i64, gantry.name = "d", gantry.device = #gpu} : (!t) -> !t
  %dh = gantry.copy %d to "CPU:0" : !t
  return %dh : !t
}
