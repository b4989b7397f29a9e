// A product on each of two devices, their sum on the host, and back to one of them.
!t = tensor<32x32xf32>
func.func @main(%x: !t, %y: !t) -> !t {
  %x0 = gantry.copy %x to "GPU:0" : !t
  %y1 = gantry.copy %y to "GPU:1" : !t
  %a = gantry.matmul %x0, %x0 {gantry.name = "a", gantry.device = #gantry.device<"GPU:0">} : (!t, !t) -> !t
  %b = gantry.matmul %y1, %y1 {gantry.name = "b", gantry.device = #gantry.device<"GPU:1">} : (!t, !t) -> !t
  %ah = gantry.copy %a to "CPU:0" : !t
  %bh = gantry.copy %b to "CPU:0" : !t
  %c = gantry.add %ah, %bh {gantry.name = "c", gantry.device = #gantry.device<"CPU:0">} : (!t, !t) -> !t
  %c0 = gantry.copy %c to "GPU:0" : !t
  %d = gantry.matmul %c0, %a {gantry.name = "d", gantry.device = #gantry.device<"GPU:0">} : (!t, !t) -> !t
  %dh = gantry.copy %d to "CPU:0" : !t
  return %dh : !t
}
