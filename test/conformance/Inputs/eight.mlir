// A product on each of eight GPUs, summed by twos as in a tournament.
!t = tensor<8x8xf32>
#g0 = #gantry.device<"GPU:0">
#g1 = #gantry.device<"GPU:1">
#g2 = #gantry.device<"GPU:2">
#g3 = #gantry.device<"GPU:3">
#g4 = #gantry.device<"GPU:4">
#g5 = #gantry.device<"GPU:5">
#g6 = #gantry.device<"GPU:6">
#g7 = #gantry.device<"GPU:7">
func.func @main(%x: !t) -> !t {
  %x0 = gantry.copy %x to "GPU:0" : !t
  %p0_0 = gantry.matmul %x0, %x0 {gantry.name = "p0", gantry.device = #g0} : (!t, !t) -> !t
  %x1 = gantry.copy %x to "GPU:1" : !t
  %p1_0 = gantry.matmul %x1, %x1 {gantry.name = "p1", gantry.device = #g1} : (!t, !t) -> !t
  %x2 = gantry.copy %x to "GPU:2" : !t
  %p2_0 = gantry.matmul %x2, %x2 {gantry.name = "p2", gantry.device = #g2} : (!t, !t) -> !t
  %x3 = gantry.copy %x to "GPU:3" : !t
  %p3_0 = gantry.matmul %x3, %x3 {gantry.name = "p3", gantry.device = #g3} : (!t, !t) -> !t
  %x4 = gantry.copy %x to "GPU:4" : !t
  %p4_0 = gantry.matmul %x4, %x4 {gantry.name = "p4", gantry.device = #g4} : (!t, !t) -> !t
  %x5 = gantry.copy %x to "GPU:5" : !t
  %p5_0 = gantry.matmul %x5, %x5 {gantry.name = "p5", gantry.device = #g5} : (!t, !t) -> !t
  %x6 = gantry.copy %x to "GPU:6" : !t
  %p6_0 = gantry.matmul %x6, %x6 {gantry.name = "p6", gantry.device = #g6} : (!t, !t) -> !t
  %x7 = gantry.copy %x to "GPU:7" : !t
  %p7_0 = gantry.matmul %x7, %x7 {gantry.name = "p7", gantry.device = #g7} : (!t, !t) -> !t
  %m0_0 = gantry.copy %p1_0 to "GPU:0" : !t
  %p0_1 = gantry.add %p0_0, %m0_0 {gantry.name = "s0_0", gantry.device = #g0} : (!t, !t) -> !t
  %m2_0 = gantry.copy %p3_0 to "GPU:2" : !t
  %p2_1 = gantry.add %p2_0, %m2_0 {gantry.name = "s2_0", gantry.device = #g2} : (!t, !t) -> !t
  %m4_0 = gantry.copy %p5_0 to "GPU:4" : !t
  %p4_1 = gantry.add %p4_0, %m4_0 {gantry.name = "s4_0", gantry.device = #g4} : (!t, !t) -> !t
  %m6_0 = gantry.copy %p7_0 to "GPU:6" : !t
  %p6_1 = gantry.add %p6_0, %m6_0 {gantry.name = "s6_0", gantry.device = #g6} : (!t, !t) -> !t
  %m0_1 = gantry.copy %p2_1 to "GPU:0" : !t
  %p0_2 = gantry.add %p0_1, %m0_1 {gantry.name = "s0_1", gantry.device = #g0} : (!t, !t) -> !t
  %m4_1 = gantry.copy %p6_1 to "GPU:4" : !t
  %p4_2 = gantry.add %p4_1, %m4_1 {gantry.name = "s4_1", gantry.device = #g4} : (!t, !t) -> !t
  %m0_2 = gantry.copy %p4_2 to "GPU:0" : !t
  %p0_3 = gantry.add %p0_2, %m0_2 {gantry.name = "s0_2", gantry.device = #g0} : (!t, !t) -> !t
  %h = gantry.copy %p0_3 to "CPU:0" : !t
  return %h : !t
}
