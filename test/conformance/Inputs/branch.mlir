// A branch whose condition is computed on a GPU, with work on both GPUs in it and behind it.
!t = tensor<16x16xf32>
#g0 = #gantry.device<"GPU:0">
#g1 = #gantry.device<"GPU:1">
func.func @main(%x: !t, %y: !t) -> !t {
  %x0 = gantry.copy %x to "GPU:0" : !t
  %y1 = gantry.copy %y to "GPU:1" : !t
  %a = gantry.matmul %x0, %x0 {gantry.name = "a", gantry.device = #g0} : (!t, !t) -> !t
  %s = gantry.reduce_sum %a {axes = array<i64: 0, 1>, gantry.name = "s", gantry.device = #g0} : (!t) -> tensor<f32>
  %low = gantry.constant dense<-1.0e6> : tensor<f32>
  %go = gantry.compare gt, %s, %low {gantry.name = "go", gantry.device = #g0} : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %r = gantry.if %go -> (!t) {
    %a1 = gantry.copy %a to "GPU:1" : !t
    %b = gantry.matmul %a1, %y1 {gantry.name = "b", gantry.device = #g1} : (!t, !t) -> !t
    %bh = gantry.copy %b to "CPU:0" : !t
    gantry.yield %bh : !t
  } else {
    %ah = gantry.copy %a to "CPU:0" : !t
    gantry.yield %ah : !t
  } : tensor<i1>
  %r0 = gantry.copy %r to "GPU:0" : !t
  %z = gantry.matmul %r0, %a {gantry.name = "z", gantry.device = #g0} : (!t, !t) -> !t
  %zh = gantry.copy %z to "CPU:0" : !t
  return %zh : !t
}
