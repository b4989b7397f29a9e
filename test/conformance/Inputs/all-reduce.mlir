// Two GPUs add up what each has made, go on with the sum, and add up again.
!t = tensor<8192xf32>
#g0 = #gantry.device<"GPU:0">
#g1 = #gantry.device<"GPU:1">
func.func @main(%x: !t, %y: !t) -> !t {
  %a = gantry.relu %x {gantry.name = "a", gantry.device = #g0} : (!t) -> !t
  %b = gantry.add %y, %y {gantry.name = "b", gantry.device = #g1} : (!t, !t) -> !t
  %s:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "GPU:1"] {gantry.name = "s"} : (!t, !t) -> (!t, !t)
  %c = gantry.mul %s#0, %a {gantry.name = "c", gantry.device = #g0} : (!t, !t) -> !t
  %d = gantry.mul %s#1, %b {gantry.name = "d", gantry.device = #g1} : (!t, !t) -> !t
  %m:2 = gantry.all_reduce mean %c, %d on ["GPU:0", "GPU:1"] {gantry.name = "m"} : (!t, !t) -> (!t, !t)
  %e = gantry.add %m#0, %c {gantry.name = "e", gantry.device = #g0} : (!t, !t) -> !t
  %f = gantry.add %e, %m#1 {gantry.name = "f", gantry.device = #g1} : (!t, !t) -> !t
  return %f : !t
}
